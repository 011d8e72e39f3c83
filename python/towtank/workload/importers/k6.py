"""Scripts of k6: what can be known of them without running them. Whatever else they do is named, line by line.

`k6_syntax` reads JavaScript with tree-sitter, `k6_expressions` and `k6_calls` find the values of expressions,
`k6_script` follows the statements, `k6_options` reads the options.
"""

from __future__ import annotations

import json
from pathlib import Path

from towtank.errors import StudyError
from towtank.units import exact_share
from towtank.workload.importers.draft import Draft, Options, Step, identifier, method_of, unique, weights
from towtank.workload.importers.k6_options import Scenario, read_options
from towtank.workload.importers.k6_script import Script
from towtank.workload.importers.k6_syntax import Source


def read(path: Path, options: Options) -> Draft:
    """Read a script."""
    del options  # files that a script names are not sent from here
    source = Source(path)
    draft = Draft(str(path), "k6", identifier(path.stem, "script"), f"Script {path.name}")
    try:
        _read(draft, source)
    except RecursionError:
        raise StudyError.at(path, "must be nested less deeply") from None
    return draft


def _read(draft: Draft, source: Source) -> None:
    script = Script(draft, source)
    script.top()
    found = script.globals.get("options")
    place = _place_of_options(source)
    scenarios = read_options(found, place, draft) if isinstance(found, dict) else [Scenario("default", "default", 1)]
    made: dict[str, str] = {}
    sizes: dict[str, float] = {}
    for scenario in scenarios:
        function = script.exported.get(scenario.function)
        if function is None:
            draft.notes.add(place, f"scenario {scenario.name}", f"the script exports no function {scenario.function}")
            continue
        if scenario.function not in made:
            steps = script.steps(function)
            if not _requests(steps):
                continue
            wanted = "script" if scenario.function == "default" else scenario.function
            made[scenario.function] = unique(identifier(wanted, "script"), draft.transactions)
            draft.transactions[made[scenario.function]] = steps
        name = unique(identifier("users" if scenario.name == "default" else scenario.name, "users"), draft.groups)
        draft.groups[name] = {"loop": {"think": "0 s", "mix": {made[scenario.function]: 100}}}
        sizes[name] = scenario.users
    for name, share in weights(sizes).items() if len(sizes) > 1 else ():
        draft.groups[name] = {"share": exact_share(share / 100), **draft.groups[name]}
    for name in ("setup", "teardown", "handleSummary"):
        if name in script.exported:
            why = "is left out: it is done once for the whole test, not by users"
            draft.notes.add(source.place(script.exported[name].node), f"{name}()", why)
    _tidy(draft)


def _place_of_options(source: Source) -> tuple[int, int]:
    """Where the options are exported; the beginning of the file where they are not."""
    for node in source.root.named_children:
        if node.type == "export_statement" and b"options" in (node.text or b"")[:40]:
            return source.place(node)
    return (1, 0)


def _tidy(draft: Draft) -> None:
    """Steps name their target only where there are several; parameters and data that nobody reads are left out."""
    steps = [step for transaction in draft.transactions.values() for step in transaction]
    if len(draft.targets) <= 1:
        for step in _requests(steps):
            step.pop("target", None)
    written = json.dumps(draft.transactions)
    draft.parameters = {name: value for name, value in draft.parameters.items() if f"${{parameters.{name}}}" in written}
    draft.data = {name: pool for name, pool in draft.data.items() if f'"draw": "{name}"' in written}


def _requests(steps: list[Step]) -> list[Step]:
    """All requests of steps and what is inside them."""
    found: list[Step] = []
    for step in steps:
        found += [step] if method_of(step) else []
        found += _requests([each for key in ("steps", "then", "else") for each in step.get(key, [])])
    return found
