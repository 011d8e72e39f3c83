"""Determines from the engine's plan which requests expect a redirect as response."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from towtank.analysis.checks.answers import REDIRECTS


def expecting_redirects(plan: Mapping[str, Any] | None, steps: Sequence[str]) -> frozenset[str]:
    """Return the names of the requests that expect a redirect as response.

    A request expects a redirect if its check accepts a redirect, or if the header Location is extracted.

    Parameters
    ----------
    plan : mapping or None
        The engine's plan.
    steps : sequence of str
        Names of the steps in this plan.
    """
    plan = plan or {}
    found = {
        int(request["step"])
        for request in _requests([plan.get("transactions"), plan.get("groups")])
        if _expects_redirect(request)
    }
    return frozenset(steps[number] for number in found if number < len(steps))


def _requests(node: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all operations of a plan that send a request, at any depth."""
    if isinstance(node, Mapping) and isinstance(node.get("step"), int):
        yield node
    for each in node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ():
        yield from _requests(each)


def _expects_redirect(request: Mapping[str, Any]) -> bool:
    checks, extracts = request.get("checks") or (), request.get("extract") or ()
    if any(check.get("kind") == "status" and _accepts_redirect(check) for check in checks):
        return True
    headers = [check.get("name") for check in checks if check.get("kind") == "header"]
    headers += [extract.get("expression") for extract in extracts if extract.get("from") == "header"]
    return any(str(name).lower() == "location" for name in headers)


def _accepts_redirect(check: Mapping[str, Any]) -> bool:
    if "in" in check:
        return not REDIRECTS.isdisjoint(check["in"])
    return any(check.get("min", 100) <= status <= check.get("max", 999) for status in REDIRECTS)
