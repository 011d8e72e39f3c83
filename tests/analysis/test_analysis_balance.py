from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from even_runs import even_script, stages_of
from synthetic_runs import write_run

from towtank.analysis import summarize_run
from towtank.analysis.statistics.fairness import fairness
from towtank.results import lines


@pytest.mark.parametrize("members", [2, 4, 10])
@pytest.mark.parametrize("served", [1, 2])
def test_k_of_n_members_that_share_evenly_give_k_over_n(members: int, served: int) -> None:
    # Jain, Chiu and Hawe, DEC-TR-301 (1984): if k of n users share equally and the other users get nothing, the
    # fairness index is k/n.
    requests = np.zeros(members)
    requests[:served] = 17.0
    assert fairness(requests) == pytest.approx(served / members, rel=1e-12)


def test_the_index_does_not_depend_on_the_unit_and_knows_no_value_of_nothing() -> None:
    requests = np.array([1.0, 2.0, 5.0])
    assert fairness(requests) == pytest.approx(64 / (3 * 30), rel=1e-12)
    assert fairness(1000 * requests) == pytest.approx(64 / (3 * 30), rel=1e-12)
    assert fairness(np.zeros(3)) is None


def _run(tmp_path: Path, of_second: dict[str, float]) -> dict:
    """Return a run of 22 s in which a counter of each server grows by `of_second` of this server per second."""
    script = even_script(
        stages_of(10, 2.0, 20.0),
        users=10,
        response_s=0.1,
        think_s=0.1,
        seconds=23.0,
        service_s=0.01,
        transactions=["get"],
    )
    run = write_run(tmp_path / "r001", script)
    header = next(
        document for path in run.engine.glob("worker-*") for document in lines.read(path) if document["k"] == "header"
    )
    origin = header["monotonic_ns"]
    documents = [{"k": "header", "schema": "towtank/service-metrics/1", "service": "gateway", "kind": "httpd"}]
    for second in range(-1, 25):
        values = {
            f'balancer_member_requests_total{{member="{name}"}}': 1000 + (second + 1) * rate
            for name, rate in of_second.items()
        }
        documents.append({"k": "metrics", "t_ns": origin + second * 10**9, "took_s": 0.001, "values": values})
    (run.observe / "gateway.ndjson").write_bytes(b"".join(lines.encode(document) for document in documents))
    return json.loads(json.dumps(summarize_run(run)))


def test_counts_and_shares_are_those_of_the_window(tmp_path: Path) -> None:
    result = _run(tmp_path, {"web-1": 30.0, "web-2": 10.0})["balance"]["gateway"]
    assert result["requests"] == pytest.approx(20 * 40.0)
    assert result["members"]["web-1"]["requests"] == pytest.approx(20 * 30.0)
    assert result["members"]["web-1"]["share"]["value"] == pytest.approx(0.75)
    assert result["members"]["web-2"]["share"]["value"] == pytest.approx(0.25)
    assert result["even_share"] == 0.5
    assert result["fairness"] == pytest.approx(40**2 / (2 * (30**2 + 10**2)))


def test_one_member_is_no_balance(tmp_path: Path) -> None:
    assert _run(tmp_path, {"web": 30.0})["balance"] == {}
