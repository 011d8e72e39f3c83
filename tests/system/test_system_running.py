"""Names of running programs, from simulated kernel files and from the test's own process."""

from __future__ import annotations

import os

import pytest

from towtank.system.running import process_facts, program_name


@pytest.mark.parametrize(
    ("comm", "arguments", "name"),
    [
        ("nginx", ["nginx: master process nginx"], "nginx"),
        ("gunicorn", ["/usr/bin/gunicorn", "shop:app"], "gunicorn"),
        ("python3", ["/usr/bin/python3.11", "-X", "dev", "/srv/shop/app.py", "--port", "1"], "app"),
        ("python3", ["python3", "-m", "http.server", "80"], "http-server"),
        ("python3", ["python3", "-c", "import x"], "python3"),
        ("node", ["node", "-e", "listen(8080, 'key-s3cr3t')"], "node"),
        ("sh", ["sh", "-lc", "exec app"], "sh"),
        ("php", ["php", "-r", "echo 1;"], "php"),
        ("node", ["node", "--require", "./hook.js", "/srv/server.mjs"], "server"),
        ("java", ["/opt/java/bin/java", "-Xmx1g", "-cp", "a.jar:b.jar", "org.example.Main"], "Main"),
        ("java", ["java", "-jar", "/srv/shop.jar"], "shop"),
        ("postgres", ["/usr/lib/postgresql/15/bin/postgres", "-D", "/data"], "postgres"),
        ("a b;c", ["a b;c"], "a-b-c"),
        ("python3", ["python3", "B" * 60_000], "B" * 40),
        ("", [], "process"),
    ],
)
def test_a_program_is_named_by_what_it_runs(comm, arguments, name, tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "comm").write_text(f"{comm}\n")
    (tmp_path / "7" / "cmdline").write_bytes(b"".join(each.encode() + b"\0" for each in arguments))
    assert program_name(7, tmp_path) == name


def test_a_process_that_has_ended_has_a_name(tmp_path):
    assert program_name(7, tmp_path) == "process"


def test_facts_of_this_process():
    found = process_facts(os.getpid())
    assert found["pid"] == os.getpid()
    assert found["limits"]["open_files"] is None or found["limits"]["open_files"] > 0
    assert ("affinity" in found) == (len(os.sched_getaffinity(0)) < os.cpu_count())
