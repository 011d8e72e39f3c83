"""Model files with work after the response: exact results, and positions of faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from towtank.cli import main

SHOP = """classes:
  shop: {rate: 6 /s, after: mail}
stations:
  mail: {demand: 50 ms}
  web: {demand: 100 ms}
"""


def ended(capsys: Any, command: str, text: str, folder: Path, *more: str) -> tuple[int, str, str]:
    path = folder / "model.yaml"
    path.write_text(text, "utf-8")
    status = main(["model", command, str(path), *more])
    printed = capsys.readouterr()
    return status, printed.out, printed.err.replace(f"{path}:", "")


def test_the_response_ends_before_the_work_after_it(tmp_path: Path, capsys: Any) -> None:
    """The response time is that of the first station: M/M/1 at 6 /s, 100 ms / (1 - 6 x 0.1) = 250 ms.

    The station after the response has a utilization of 6 /s x 50 ms = 0.3.
    """
    status, out, err = ended(capsys, "simulate", SHOP, tmp_path, "--seed", "3", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["classes"]["shop"]["response_time_s"] == pytest.approx(0.25, rel=0.02)
    assert found["stations"]["mail"]["utilization"] == pytest.approx(0.3, rel=0.02)
    assert found["stations"]["mail"]["residence_time_s"]["shop"] == pytest.approx(0.05 / 0.7, rel=0.03)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("mail}", "post}"), "2:29: classes.shop.after: must be stations that the class visits (mail, web), got"),
        (("mail}", "[mail, web]}"), "2:29: classes.shop.after: must leave a station with service time before the"),
        (("mail}", "[]}"), "2:29: classes.shop.after: must have at least one station, got none"),
        (
            ("rate: 6 /s", "users: 6, transactions: {buy: {share: 100 %}}"),
            "2:64: classes.shop.after: must be left out for a class with transactions; give each transaction a class",
        ),
    ],
)
def test_work_after_that_is_wrong_is_refused(tmp_path: Path, capsys: Any, change: tuple[str, str], fault: str) -> None:
    status, _, err = ended(capsys, "simulate", SHOP.replace(*change), tmp_path)
    assert (status, len(err.splitlines())) == (2, 1), err
    assert err.startswith(fault)


def test_solving_refuses_work_after_the_response(tmp_path: Path, capsys: Any) -> None:
    status, _, err = ended(capsys, "solve", SHOP, tmp_path)
    assert (status, err) == (
        2,
        "2:29: classes.shop.after: must be left out for solving: only 'towtank model simulate' supports it\n",
    )
