"""Output of `towtank rules` and `towtank advise` as text and JSON."""

from __future__ import annotations

import json
from pathlib import Path

from in_process import towtank as run
from results_1 import copy_of_results_1


def test_a_rule_is_worked_out_step_by_step() -> None:
    done = run("rules", "file_cache_memory", "--set", "pagepool=8 GiB", "--set", "files=20000", "--set", "stats=512")
    assert (done.returncode, done.stderr) == (0, "")
    assert "= pagepool + files * 3 KiB + stats * 400 B" in done.stdout
    assert "= 8 GiB + 20000 files * 3 KiB + 512 entries * 400 B" in done.stdout
    assert "= 8651579392 B (8.057 GiB)" in done.stdout


def test_a_rule_as_json() -> None:
    done = run(
        "rules", "save_rate", "--set", "speed=35 MB/s", "--set", "kept=0.95", "--set", "compaction=2.8", "--json"
    )
    document = json.loads(done.stdout)
    assert document["schema"] == "towtank/rules/1"
    assert document["answer"]["value"] == 335.16
    assert document["answer"]["unit"] == "GB/h"
    (rule,) = document["rules"]
    assert rule["source"]["lines"] == "8430-8434, 8479-8562"
    assert all(example["comes_out"] for example in rule["examples"])


def test_inferred_examples_are_marked() -> None:
    document = json.loads(run("rules", "panel_cost", "--json").stdout)
    assert [example["proves"] for example in document["rules"][0]["examples"]] == [False]
    assert "so this example does not check the rule" in run("rules", "panel_cost").stdout


def test_all_faults_of_the_command_line_at_once() -> None:
    done = run("rules", "java_heap", "--set", "memry=3", "--set", "heap=4 s", "--set", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 4
    assert "did you mean 'memory'?" in done.stderr
    assert "must be given: Memory of the host [GB]" in done.stderr


def test_an_unknown_rule_and_an_unknown_topic() -> None:
    done = run("rules", "java_heep")
    assert done.returncode == 2
    assert "did you mean 'java_heap'?" in done.stderr
    done = run("rules", "--topic", "moon")
    assert done.returncode == 2
    assert "must be one of" in done.stderr


def test_numbers_without_an_answer() -> None:
    done = run("rules", "position_above_knee", "--set", "interactive=30", "--set", "knee=30", "--set", "maximum=30")
    assert done.returncode == 2
    assert done.stderr.startswith("(interactive - knee) / (maximum - knee) has no answer with these numbers")


def test_the_list_has_every_topic() -> None:
    done = run("rules")
    assert done.returncode == 0
    assert "\ninteractive\n" in done.stdout
    assert "effective_interactive_utilization" in done.stdout
    document = json.loads(run("rules", "--topic", "postgresql", "--json").stdout)
    assert {rule["topic"] for rule in document["rules"]} == {"postgresql"}


def test_advice_on_results_and_rules_of_the_user(tmp_path: Path) -> None:
    results = copy_of_results_1(tmp_path / "results")
    rules = tmp_path / "ours.yaml"
    rules.write_text(
        """\
schema: towtank/rule-file/1
topic: ours
rules:
  our_cpu:
    title: Processors stay below 20 %
    kind: threshold
    formula: 20 %
    inputs:
      utilization: {unit: "%", role: seen, meaning: CPU utilization., binds: tier.cpu_utilization}
    result: {unit: "%", meaning: Highest utilization.}
    follows_when: utilization < result
    source: {document: towtank, section: here}
    examples:
      - {result: 20, origin: derived}
"""
    )
    done = run("advise", str(results.path), "--rules", str(rules), "--users", "48", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["schema"] == "towtank/advice/1"
    assert [system["label"] for system in document["situations"]] == ["search_index present", "search_index absent"]
    for situation in document["situations"]:
        (ours,) = (item for item in situation["advice"] if item["rule"] == "our_cpu")
        assert (ours["verdict"], ours["services"], ours["says"]) == ("differs", ["content"], "20 %")
    text = run("advise", str(results.path), "--users", "48").stdout
    assert "differs from the rule:" in text
    assert "not decidable:" in text


def test_advice_on_a_sheet_and_its_faults(tmp_path: Path) -> None:
    path = tmp_path / "sheet.yaml"
    path.write_text("load.users: 400\nweb_container.threads: 50\n")
    done = run("advise", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "says: 300 threads" in done.stdout
    path.write_text("load.users: 400 GB\nload.user: 3\n")
    done = run("advise", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert [line.split(": ")[0] for line in done.stderr.splitlines()] == [f"{path}:1:13", f"{path}:2:12"]


def test_advice_on_what_is_no_results_folder(tmp_path: Path) -> None:
    done = run("advise", str(tmp_path))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    done = run("advise", str(tmp_path / "none"))
    assert done.returncode == 2
    assert "must be a file that exists" in done.stderr
