"""A helper program of a host that never becomes ready must not block the conductor."""

from __future__ import annotations

import select

import pytest
from waiting import PATIENCE_S

from towtank.system.hosts import helper as module
from towtank.system.hosts.helper import await_ready, end_helper, start_helper

pytestmark = pytest.mark.waits

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_END_WITHIN_S", 0.5)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo ready; exec cat", None),
        ("echo no room >&2; exit 3", "no room"),
        ("exit 3", ""),
        ("echo steady; exec cat", ""),
    ],
    ids=["ready", "fails", "ends", "other"],
)
def test_why_a_helper_is_not_ready(script: str, reason: str | None) -> None:
    helper = start_helper(["sh", "-c", script], ENVIRONMENT)
    assert await_ready(helper, PATIENCE_S) == reason
    end_helper(helper)
    assert helper.returncode is not None


@pytest.mark.parametrize(
    ("script", "words"),
    [
        # The child process keeps the output pipes open, as `mount` does while a disk does not respond.
        ("echo no room >&2; printf rea; sleep 600 & wait", "no room (not ready within 0 s)"),
        ("yes no room >&2 & wait", "no room (not ready within 0 s)"),
    ],
    ids=["hangs", "floods"],
)
def test_a_helper_that_never_gets_ready_is_given_up(script: str, words: str) -> None:
    helper = start_helper(["sh", "-c", script], ENVIRONMENT)
    assert select.select([helper.stderr], [], [], PATIENCE_S)[0]
    assert str(await_ready(helper, 0.0)).endswith(words)
    end_helper(helper)
    assert helper.returncode is not None
