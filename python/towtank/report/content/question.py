"""The question, what was expected, and the system with a drawing of its tiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank.report import drawing
from towtank.report import format as people
from towtank.report.document import Block, Column, Figure, Section, Table, paragraph, strong
from towtank.report.source import Json, Results, dig

_GENERATOR = "virtual users"
_LINKS = ("uses", "needs", "depends_on", "asks", "calls")


def build(results: Results) -> Section:
    """Question, expectation, factors, and the system."""
    study = results.study
    blocks: list[Block] = []
    question = results.summary.get("question") or study.get("question")
    blocks.append(paragraph(strong("Question. "), str(question or "The study file states no question.").strip()))
    if study.get("expect"):
        blocks.append(paragraph(strong("Expected beforehand. "), str(study["expect"]).strip()))
    factors = [one for one in results.summary.get("factors") or study.get("factors") or () if isinstance(one, Mapping)]
    if factors:
        blocks.append(_factors(factors, results.load_factor))
    found = tiers(results)
    if found:
        blocks += [_drawing(results, found), _table(found)]
    return Section("question", "Question and system", tuple(blocks))


def _factors(factors: list[Json], load_factor: str) -> Table:
    rows = tuple(
        (
            str(one.get("name")),
            ", ".join(str(level) for level in one.get("levels") or ()),
            "load" if one.get("name") == load_factor else "configuration",
        )
        for one in factors
    )
    return Table("Factors of the study", (Column("Factor"), Column("Levels"), Column("Role")), rows)


def tiers(results: Results) -> dict[str, dict[str, Any]]:
    """Tiers by name with kind, host, CPUs, parts and links: as described, as run, as observed."""
    found: dict[str, dict[str, Any]] = {}
    for name, service in named(dig(results.study, "system", "services")):
        links = [str(link) for key in _LINKS for link in _listed(service.get(key))]
        found[name] = {
            "kind": service.get("kind"),
            "host": service.get("host"),
            "cpus": service.get("cpus"),
            "asks": links,
        }
    for run in results.runs:
        for name, tier in (run.manifest.get("tiers") or {}).items():
            known = found.setdefault(str(name), {"asks": []})
            known.update({key: tier[key] for key in ("kind", "host", "cpus") if tier.get(key) is not None})
        for name, tier in (run.summary.get("tiers") or {}).items():
            known = found.setdefault(str(name), {"asks": []})
            known.setdefault("kind", tier.get("kind"))
            known["parts"] = list(dict.fromkeys([*known.get("parts", ()), *(tier.get("parts") or {})]))
    _link_by_settings(results, found)
    return found


def _link_by_settings(results: Results, found: dict[str, dict[str, Any]]) -> None:
    """A service whose setting names another, or its kind, sends requests to it (`database: postgresql`)."""
    kinds = {str(tier.get("kind")): name for name, tier in found.items()}
    for name, service in named(dig(results.study, "system", "services")):
        for value in (service.get("settings") or {}).values():
            other = (value if value in found else kinds.get(value)) if isinstance(value, str) else None
            if other and other != name and other not in found[name]["asks"]:
                found[name]["asks"].append(other)


def entries(results: Results, found: dict[str, dict[str, Any]]) -> list[str]:
    """The tiers that the load goes to: the targets, else those that no other tier asks."""
    targets = dig(results.study, "system", "targets") or {}
    aimed = [
        str(service)
        for name, one in targets.items()
        if isinstance(one, Mapping)
        for service in one.get("services") or [one.get("service") or name]
    ]
    asked = {link for tier in found.values() for link in tier["asks"]}
    return [name for name in found if name in aimed] or [name for name in found if name not in asked] or list(found)[:1]


def named(services: Any) -> list[tuple[str, Json]]:
    """Services as pairs, whether they are written as a mapping or as a list with names."""
    if isinstance(services, Mapping):
        return [(str(name), one if isinstance(one, Mapping) else {}) for name, one in services.items()]
    return [(str(one["name"]), one) for one in services or () if isinstance(one, Mapping) and one.get("name")]


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value or ())


def cpu_names(cpus: Any) -> str:
    """`CPU 0` or `CPUs 0, 2`; `any CPU` where nothing is pinned."""
    listed = [str(cpu) for cpu in cpus or ()]
    return f"{'CPU' if len(listed) == 1 else 'CPUs'} {', '.join(listed)}" if listed else "any CPU"


def _drawing(results: Results, found: dict[str, dict[str, Any]]) -> Figure:
    entered = entries(results, found)
    generator = next(
        (dig(run.manifest, "pinning", "generator") for run in results.runs if run.manifest.get("pinning")),
        None,
    )
    hosts = [str(tier.get("host") or "") for tier in found.values()]
    lines = (f"load: {results.load_factor}", f"engine on {cpu_names(generator)}")
    boxes = [drawing.Box(_GENERATOR, lines, host=hosts[0] if len(set(hosts)) == 1 else "", asks=tuple(entered))]
    for (name, tier), host in zip(found.items(), hosts, strict=True):
        about = tuple(filter(None, (str(tier.get("kind") or ""), cpu_names(tier.get("cpus")))))
        boxes.append(drawing.Box(name, about, tuple(tier.get("parts") or ()), host, tuple(tier["asks"])))
    words = f"Virtual users send requests to {people.listing(entered)}. Tiers: {people.listing(list(found))}."
    return Figure(
        name="system",
        title="The system under test and its load",
        description=words,
        note="Frames are hosts, boxes are tiers, inner boxes are parts of a tier that are measured on their own.",
        svg=drawing.draw(boxes, words),
    )


def _table(found: dict[str, dict[str, Any]]) -> Table:
    rows = tuple(
        (
            name,
            str(tier.get("kind") or people.ABSENT),
            str(tier.get("host") or people.ABSENT),
            cpu_names(tier.get("cpus")),
            ", ".join(tier.get("parts") or ()) or people.ABSENT,
        )
        for name, tier in found.items()
    )
    columns = (Column("Tier"), Column("Kind"), Column("Host"), Column("Pinned to"), Column("Parts measured"))
    return Table("Tiers of the system", columns, rows)
