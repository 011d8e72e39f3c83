"""First failed exchanges of runs and studies: bounded texts without secrets and control characters."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.analysis.failed_exchanges import (
    EXCHANGES_AT_MOST,
    FailedExchange,
    exchanges_of_runs,
    failed_exchanges,
    read_exchanges,
)
from towtank.plan_secrets import with_secrets
from towtank.results import EngineForm


def exchange(**changes: Any) -> dict[str, Any]:
    """Return an exchange as `engine.json` has it, with the given changes."""
    return {
        "t_ns": 3_200_000_000,
        "transaction": "view",
        "step": "GET /item",
        "failure": "check",
        "check": "json $.id",
        "expected": "7",
        "got": "8",
        "status": 200,
        "answer": '{"id": 8}',
        "answer_bytes": 9,
        **changes,
    }


def summary(*exchanges: dict[str, Any]) -> dict[str, Any]:
    return {"failed_exchanges": list(exchanges)}


def test_an_exchange_is_described_with_what_was_expected_and_what_came() -> None:
    (found,) = read_exchanges(summary(exchange()))
    assert found.lines == [
        "view / GET /item at 3.2 s: json $.id: expected 7, got 8 (status 200)",
        '  answer: {"id": 8}',
    ]


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ('{"token": "abc", "n": 1}', '{"token": ***, "n": 1}'),
        ("Set-Cookie: sid=4711", "Set-Cookie: ***"),
        ("a\x1b[31m red\x07\nline \u202eb", "a red line b"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ],
)
def test_texts_of_a_server_have_no_secrets_and_no_control_characters(sent: str, shown: str) -> None:
    (found,) = read_exchanges(summary(exchange(answer=sent, got=sent)))
    assert (found.answer, found.got) == (shown, shown)


def test_texts_are_bounded() -> None:
    (found,) = read_exchanges(summary(exchange(answer="x " * 5000, got="y " * 5000)))
    assert (len(found.answer), len(found.got)) == (400, 200)


@pytest.mark.parametrize("damaged", [{}, {"t_ns": "x", "status": "y", "answer": 3, "got": None, "step": ["a"]}])
def test_damaged_entries_are_read_as_far_as_they_go(damaged: dict[str, Any]) -> None:
    (found,) = read_exchanges(summary(damaged))
    assert (found.at_s, found.status) == (None, None)
    assert found.lines


def test_an_older_engine_is_not_known_to_have_had_none() -> None:
    assert failed_exchanges(EngineForm(reason="finished")) is None
    assert failed_exchanges(None) is None
    assert failed_exchanges(EngineForm(failed_exchanges=[])) == []


def test_a_study_has_the_first_exchange_of_each_requirement_with_its_run() -> None:
    first = {"run": "r001", "failed_exchanges": [exchange()]}
    second = {"run": "r002", "failed_exchanges": [exchange(got="9"), exchange(check="status", expected="200")]}
    found = [FailedExchange.read(each) for each in exchanges_of_runs([first, second])]
    assert [(each.run, each.check, each.got) for each in found] == [("r001", "json $.id", "8"), ("r002", "status", "8")]
    assert found[0].lines[0].startswith("r001, view / GET /item at 3.2 s")


def test_the_number_of_exchanges_is_bounded() -> None:
    many = [exchange(step=f"step {number}") for number in range(50)]
    assert len(exchanges_of_runs([{"run": "r001", "failed_exchanges": many}])) == EXCHANGES_AT_MOST
    assert len(failed_exchanges(EngineForm(failed_exchanges=many)) or ()) == EXCHANGES_AT_MOST


def test_a_plan_names_the_secrets_that_it_contains() -> None:
    request = {
        "headers": [["Authorization", ["Bearer tok-123"]], ["X-Kind", ["plain"]]],
        "auth": {"user": ["ada"], "password": ["lovelace"]},
        "checks": [{"kind": "contains", "text": ["open sesame"]}],
    }
    plan = {"transactions": [{"ops": [{"op": "loop", "ops": [request]}]}], "targets": [{"password": "db-pass"}]}
    secrets = with_secrets(plan, ["parameter"])["secrets"]
    assert {"tok-123", "lovelace", "db-pass", "parameter"} <= set(secrets)
    assert not {"ada", "plain", "open sesame"} & set(secrets)
    assert with_secrets({"ops": []}) == {"ops": []}


def test_the_password_of_a_basic_header_is_named() -> None:
    plan = with_secrets({"headers": [["authorization", ["Basic YWRhOmxvdmVsYWNl"]]]})
    assert {"YWRhOmxvdmVsYWNl", "lovelace"} <= set(plan["secrets"])


@pytest.mark.parametrize(
    ("part", "secrets"),
    [
        ({"headers": [["authorization", ["Token token=abc123"]]]}, {"abc123"}),
        ({"headers": [["authorization", ["Bearer ", {"variable": 1}]]]}, set()),
        ({"headers": [["cookie", ["a=1111; sid=2222"]]]}, {"1111", "2222"}),
        ({"template": ['{"user":"ann","password":"hunter2"}']}, {"hunter2"}),
        ({"template": ["user=ann&api_key=k3-9&password=", {"variable": 1}]}, {"k3-9"}),
    ],
)
def test_secrets_in_headers_and_bodies_are_named(part: dict[str, list[object]], secrets: set[str]) -> None:
    found = set(with_secrets(part).get("secrets", ()))  # type: ignore[call-overload]
    assert secrets <= found
    assert not {"Token", "token", "Bearer", "ann", "a", "sid"} & found
