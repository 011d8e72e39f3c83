"""Reads k6 scripts without running them. Parts that cannot be converted become notes with their lines.

`syntax` parses JavaScript with tree-sitter, `expressions` and `calls` evaluate expressions, `script` converts
statements, and `options` reads the options.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from tree_sitter import Node

from towtank.errors import StudyError
from towtank.units import exact_share
from towtank.workload.importers.draft import (
    DraftGroup,
    ImportDraft,
    ImportOptions,
    identifier,
    requests_in,
    seconds,
    unique,
    weights,
)
from towtank.workload.importers.k6.options import Scenario, read_options
from towtank.workload.importers.k6.script import Script
from towtank.workload.importers.k6.syntax import Source, named, text_of

# `_READ` matches variables that templates read, `_ASKED` variables that conditions test.
_READ = re.compile(r"\$\{(\w+)[|}]")
_ASKED = re.compile(r'"if": \{"\w+": "(\w+)"')


def read(path: Path, options: ImportOptions) -> ImportDraft:
    """Read a k6 script into a draft of a workload."""
    del options  # `options` is unused, because no import option applies to k6 scripts
    source = Source(path)
    draft = ImportDraft(str(path), "k6", identifier(path.stem, "script"), f"Script {path.name}")
    try:
        _read(draft, source)
    except RecursionError:
        raise StudyError.at(path, "must be nested less deeply") from None
    return draft


def _read(draft: ImportDraft, source: Source) -> None:
    script = Script(draft, source)
    script.top()
    found = script.globals.get("options")
    place = _place_of_options(source)
    options = found if isinstance(found, dict) else {}
    scenarios = read_options(options, place, draft, _places(source))
    # k6 clears the cookies of a virtual user before every iteration, unless the options disable this.
    cookies = {} if options.get("noCookiesReset") is True else {"kept": "per_round"}
    made: dict[str, str] = {}
    once: dict[str, list[str]] = {}
    sizes: dict[str, float] = {}
    for scenario in scenarios:
        function = script.exported.get(scenario.function)
        if function is None:
            draft.notes.add(place, f"scenario {scenario.name}", f"the script exports no function {scenario.function}")
            continue
        if scenario.function not in made:
            steps = script.steps(function)
            if not requests_in(steps):
                continue
            wanted = "script" if scenario.function == "default" else scenario.function
            made[scenario.function] = unique(identifier(wanted, "script"), draft.transactions)
            if script.once:
                once[scenario.function] = [unique(f"{made[scenario.function]}_once", draft.transactions)]
                draft.transactions[once[scenario.function][0]] = script.once
            draft.transactions[made[scenario.function]] = steps
        name = unique(identifier("users" if scenario.name == "default" else scenario.name, "users"), draft.groups)
        first = once.get(scenario.function, [])
        mix = {made[scenario.function]: 100}
        draft.groups[name] = DraftGroup(mix, pacing=_pace(scenario, draft), once=first, cookies=cookies)
        sizes[name] = scenario.users
    for name, share in weights(sizes).items() if len(sizes) > 1 else ():
        draft.groups[name].share = exact_share(round(share / 100, 6))
    for name in ("setup", "teardown", "handleSummary"):
        if name in script.exported:
            why = "left out: it runs once for the whole test, not for each user"
            draft.notes.add(source.place(script.exported[name].node), f"{name}()", why)
    _tidy(draft)
    _say_of_values(draft)


def _say_of_values(draft: ImportDraft) -> None:
    """Add a note if a request with extractions does not end the round when it fails.

    k6 extracts values from failed responses, too; the workload does not.
    """
    steps = [step for transaction in draft.transactions.values() for step in requests_in(transaction)]
    if any(step.get("extract") and step.get("on_failure") == "go_on" for step in steps):
        why = (
            "k6 extracts them from failed responses, too, and inserts `undefined` if they are missing; "
            "in the workload, values from a failed request are empty"
        )
        draft.notes.add((1, 0), "values from responses", why)


def _pace(scenario: Scenario, draft: ImportDraft) -> str | None:
    """Return the pacing of a scenario's users; None if the scenario has no arrival rate.

    An arrival rate becomes a pacing, because a workload has a fixed number of virtual users and no arrivals.
    """
    if scenario.rate <= 0:
        return None
    pacing = seconds(scenario.users / scenario.rate)
    why = (
        f"{scenario.rate:g} iterations per second correspond to {scenario.users:g} users with a pacing of {pacing} "
        "each; change the pacing with the number of users, or use an arrival rate with `towtank drive --rate`"
    )
    draft.notes.add(scenario.place, f"scenario {scenario.name}: arrival rate", why)
    return pacing


def _places(source: Source) -> dict[tuple[str, ...], tuple[int, int]]:
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    waiting: list[tuple[tuple[str, ...], Node]] = []
    for node in source.root.named_children:
        declaration = node.child_by_field_name("declaration") if node.type == "export_statement" else None
        for declarator in named(declaration):
            value = declarator.child_by_field_name("value")
            if text_of(declarator.child_by_field_name("name")) == "options" and value is not None:
                waiting.append(((), value))
    while waiting:
        path, node = waiting.pop()
        for pair in named(node) if node.type == "object" else []:
            key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
            if key is not None and value is not None:
                name = (*path, text_of(key).strip("'\""))
                found[name] = source.place(pair)
                waiting.append((name, value))
    return found


def _place_of_options(source: Source) -> tuple[int, int]:
    """Return the position of the exported options; without exported options, the beginning of the file."""
    for node in source.root.named_children:
        if node.type == "export_statement" and b"options" in (node.text or b"")[:40]:
            return source.place(node)
    return (1, 0)


def _tidy(draft: ImportDraft) -> None:
    """Remove unused parameters, pools and extractions, and from the steps the target if there is only one."""
    steps = [step for transaction in draft.transactions.values() for step in transaction]
    if len(draft.targets) <= 1:
        for step in requests_in(steps):
            step.pop("target", None)
    written = json.dumps(draft.transactions)
    draft.parameters = {
        name: value
        for name, value in draft.parameters.items()
        if any(f"${{parameters.{name}{end}" in written for end in "}|")
    }
    draft.data = {name: pool for name, pool in draft.data.items() if f'"draw": "{name}"' in written}
    read = {*_READ.findall(written), *_ASKED.findall(written)}
    for step in requests_in(steps):
        kept = {name: spec for name, spec in step.pop("extract", {}).items() if name in read}
        if kept:
            step["extract"] = kept
