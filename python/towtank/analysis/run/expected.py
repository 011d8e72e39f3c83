"""Finds the requests in the plan of the engine that expect a redirect, or status 304, as response."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from towtank.analysis.checks.answers import NOT_MODIFIED, REDIRECTS
from towtank.digging import dig

# Request headers with a condition; a server responds with status 304 if the condition is false (RFC 9110, section
# 13.2.2).
_CONDITIONS = frozenset({"if-none-match", "if-modified-since"})


def expecting_redirects(plan: Mapping[str, Any] | None, steps: Sequence[str]) -> frozenset[str]:
    """Return the names of the requests that expect a redirect as response.

    A request expects a redirect if its check accepts a redirect, or if the header Location is extracted.

    Parameters
    ----------
    plan : mapping or None
        Plan of the engine.
    steps : sequence of str
        Names of the requests (steps) in the plan, by number of the step.
    """
    return _names(plan, steps, _expects_redirect)


def expecting_not_modified(plan: Mapping[str, Any] | None, steps: Sequence[str]) -> frozenset[str]:
    """Return the names of the requests that expect status 304: they have a header with a condition, or their check
    accepts this status. If there is no plan, all requests are returned, because their headers are unknown.

    Parameters
    ----------
    plan, steps
        As for `expecting_redirects`.
    """
    return frozenset(steps) if plan is None else _names(plan, steps, _expects_not_modified)


def _names(
    plan: Mapping[str, Any] | None, steps: Sequence[str], expects: Callable[[Mapping[str, Any]], bool]
) -> frozenset[str]:
    """Return the names of the requests for which `expects` returns True."""
    plan = plan or {}
    requests = _requests([plan.get("transactions"), plan.get("groups")])
    found = {int(request["step"]) for request in requests if expects(request)}
    return frozenset(steps[number] for number in found if number < len(steps))


def _requests(node: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all operations in a plan that send a request, at any depth."""
    if isinstance(node, Mapping) and isinstance(node.get("step"), int):
        yield node
    for each in node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ():
        yield from _requests(each)


def _expects_redirect(request: Mapping[str, Any]) -> bool:
    checks, extracts = request.get("checks") or (), request.get("extract") or ()
    if _accepts_any(checks, REDIRECTS):
        return True
    headers = [check.get("name") for check in checks if check.get("kind") == "header"]
    headers += [extract.get("expression") for extract in extracts if extract.get("from") == "header"]
    return any(str(name).lower() == "location" for name in headers)


def _expects_not_modified(request: Mapping[str, Any]) -> bool:
    headers = {str(name).lower() for name, *_ in dig(request, "headers") or ()}
    return not headers.isdisjoint(_CONDITIONS) or _accepts_any(dig(request, "checks") or (), frozenset({NOT_MODIFIED}))


def _accepts_any(checks: Sequence[Mapping[str, Any]], codes: frozenset[int]) -> bool:
    return any(check.get("kind") == "status" and _accepts(check, codes) for check in checks)


def _accepts(check: Mapping[str, Any], codes: frozenset[int]) -> bool:
    if "in" in check:
        return not codes.isdisjoint(check["in"])
    return any(check.get("min", 100) <= status <= check.get("max", 999) for status in codes)
