"""Export as OpenMetrics. Both versions of the format are read with the parsers of the Prometheus client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prometheus_client import parser as prometheus
from prometheus_client.openmetrics import parser as openmetrics

from towtank.analysis import summarize_study
from towtank.results.folder import ResultsFolder

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(families) -> Samples:
    found: Samples = {}
    for family in families:
        assert family.type == "gauge"
        assert family.documentation
        for sample in family.samples:
            # The textfile collector of Prometheus refuses a file if any sample has a timestamp.
            assert sample.timestamp is None
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


@pytest.fixture
def text(towtank, results) -> str:
    assert towtank("export", results, "--to", "openmetrics").status == 0
    return (results / "exports" / "towtank.prom").read_text("utf-8")


@pytest.fixture
def found(text) -> Samples:
    return samples(openmetrics.text_string_to_metric_families(text))


def value(found: Samples, name: str, **labels: str) -> float:
    wanted = set(labels.items())
    (number,) = [value for (family, held), value in found.items() if family == name and wanted <= held]
    return number


def test_both_formats_read_the_same(text, found):
    assert samples(prometheus.text_string_to_metric_families(text)) == found
    # If every interval had both ends, there would be 1,090 samples. 176 ends are missing, and 8 runs have 5 counts of
    # failed transactions each: 1,090 - 176 + 8 x 5 = 954.
    assert len(found) == 954
    assert text.endswith("\n# EOF\n")


def test_values_are_those_of_the_summaries(results, found):
    summary = summarize_study(ResultsFolder(results))
    run = json.loads((results / "runs" / "r004" / "summary.json").read_text("utf-8"))
    assert value(found, "towtank_study_runs", verdict="suspect") == summary["verdict"]["suspect_runs"] == 4
    labels = {"run": "r004", "factor_users": "48", "factor_search_index": "present"}
    name = "towtank_throughput_transactions_per_second"
    for key, bound in (("value", "estimate"), ("low", "low"), ("high", "high")):
        assert value(found, name, **labels, bound=bound) == run["throughput_per_s"][key]
    assert value(found, "towtank_connections_open", **labels) == run["connections"]["open_mean"]
    p95 = {"statistic": "p95", "bound": "estimate"}
    name = "towtank_response_time_seconds"
    assert value(found, name, **labels, **p95) == run["response_time_s"]["p95"]["value"]
    download = run["transactions"]["download"]
    name = "towtank_transaction_response_time_seconds"
    assert value(found, name, run="r004", transaction="download", **p95) == download["response_time_s"]["p95"]["value"]
    assert (
        value(found, "towtank_tier_cpus_used", run="r004", tier="content", bound="estimate")
        == (run["tiers"]["content"]["cpus_used"]["value"])
    )
    # These results have no proportional set sizes, so the label states that memory is a sum of resident sets.
    memory = {"tier": "content", "how": "sum of resident sets"}
    sets = value(found, "towtank_tier_resident_sets_bytes", run="r004", tier="content")
    assert value(found, "towtank_tier_memory_bytes", run="r004", **memory) == sets > 0
    assert value(found, "towtank_run_verdict", run="r004", verdict="valid") == 1
    assert value(found, "towtank_run_verdict", run="r004", verdict="invalid") == 0


def test_objectives_are_one_or_zero(found):
    met = {"configuration": "search_index present", "objective": "p95 of open_all_searches < 1 s"}
    assert value(found, "towtank_objective_met", **met) == 1
    assert value(found, "towtank_objective_met", configuration="search_index absent") == 0


def test_what_was_not_measured_has_no_sample(towtank, mixed, tmp_path):
    for path in mixed.engine.iterdir():
        path.unlink()
    out = tmp_path / "towtank.prom"
    assert towtank("export", mixed.path, "--to", "openmetrics", "--out", out).status == 0
    found = samples(openmetrics.text_string_to_metric_families(out.read_text("utf-8")))
    names = {name for name, _ in found}
    assert "towtank_run_verdict" in names
    assert not names & {"towtank_response_time_seconds", "towtank_failed_ratio", "towtank_failed_transactions"}
    assert not any(name.startswith("towtank_throughput") for name in names)


def test_labels_with_marks_are_read_back(towtank, mixed, tmp_path):
    out = Path(tmp_path / "towtank.prom")
    assert towtank("export", mixed.path, "--to", "openmetrics", "--out", out).status == 0
    found = samples(openmetrics.text_string_to_metric_families(out.read_text("utf-8")))
    labels = {"factor_search_index": 'a "b"\\c', "verdict": "invalid"}
    assert value(found, "towtank_run_verdict", **labels) == 1
    names = {dict(held).get("transaction") for name, held in found if name == "towtank_transaction_failed"}
    assert names == {"read, all", 'write "x" | <y>'}
