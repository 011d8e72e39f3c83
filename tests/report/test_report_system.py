"""Drawing of a system with hosts, links and the load generator. Of identical hosts, only one is drawn."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from towtank.report.content import question, tiers
from towtank.report.document import Figure, Table
from towtank.report.source import Results, RunResult

SYSTEM: dict[str, Any] = {
    "hosts": {"client": {"provider": "namespaces"}, "server": {"provider": "namespaces"}},
    "services": {"database": {"kind": "postgresql", "host": "server"}},
    "targets": {"orders": {"service": "database"}},
    "network": {"link": "bridge"},
    "generator": {"host": "client"},
}


COPIED: dict[str, Any] = {
    **SYSTEM,
    "hosts": {name: {"provider": "namespaces"} for name in ("client", "server-1", "server-2")},
    "services": {f"database-{number}": {"kind": "postgresql", "host": f"server-{number}"} for number in (1, 2)},
    "targets": {"orders": {"services": ["database-1", "database-2"]}},
    "copies": {"server": 2},
}


def run(number: int, manifest: dict[str, Any], **factors: str) -> RunResult:
    described = {"run": f"r{number:03d}", "factors": {"users": "4", **factors}, **manifest}
    return RunResult(
        described["run"],
        described,
        {"run": described["run"], "tiers": {name: {} for name in described.get("tiers", ())}},
    )


def copied(count: int, link: str = "bridge") -> dict[str, Any]:
    """Return the manifest of a run with the given number of servers, and with the load generator on the given host."""
    numbers = range(1, count + 1)
    return {
        "hosts": {name: {"link": link} for name in ("client", *(f"server-{number}" for number in numbers))},
        "tiers": {
            f"database-{number}": {"kind": "postgresql", "host": f"server-{number}", "cpus": [0]} for number in numbers
        },
        "generator_host": "client",
    }


def results(system: dict[str, Any], *runs: RunResult) -> Results:
    return Results("results", {"study": {"name": "s", "system": system}}, {}, runs)


def texts(figure: Figure) -> list[str]:
    """Return all texts of a drawing, in the order in which the SVG contains them."""
    assert figure.svg is not None
    found = ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}text")
    return [box.text or "" for box in found]


def frames(figure: Figure) -> dict[str, int]:
    """Return the number of boxes inside each frame of the drawing, by label of the frame."""
    assert figure.svg is not None
    shapes = [*ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}rect")][1:]
    outlines = [shape for shape in shapes if "stroke-dasharray" in shape.attrib and shape.get("fill") == "#f7f7f7"]
    boxes = [shape for shape in shapes if shape.get("fill") == "white"]

    def place(element: ElementTree.Element) -> tuple[float, float, float, float]:
        x, y, width, height = (float(element.attrib[key]) for key in ("x", "y", "width", "height"))
        return x, y, x + width, y + height

    labels = [text for text in texts(figure) if text.startswith("host ")]
    # Of two overlapping shapes, the later one in the SVG is in front.
    front = [each for number, each in enumerate(outlines) if len(outlines) == len(labels) or number % 2]
    return {
        label: sum(
            all(low <= value for low, value in zip(place(frame)[:2], place(box)[:2], strict=True))
            and all(value <= high for value, high in zip(place(box)[2:], place(frame)[2:], strict=True))
            for box in boxes
        )
        for label, frame in zip(labels, front, strict=True)
    }


def shown(whole: Results) -> tuple[Figure, Table]:
    blocks = question.build(whole).blocks
    (figure,) = [block for block in blocks if isinstance(block, Figure)]
    (table,) = [block for block in blocks if isinstance(block, Table) and block.caption.startswith("Tiers")]
    return figure, table


@pytest.mark.parametrize("system", [SYSTEM, COPIED])
def test_copies_are_drawn_once_with_their_numbers(system: dict[str, Any]) -> None:
    whole = results(system, run(1, copied(1), servers="one"), run(2, copied(6), servers="many"))
    figure, table = shown(whole)
    assert table.rows == (("database", "postgresql", "server × 1 or 6", "CPU 0", "–"),)
    assert texts(figure).count("database") == 1
    assert "host server × 1 or 6" in texts(figure)
    assert "A frame with a number represents this number of equal hosts" in figure.note


def test_copies_are_known_before_anything_ran() -> None:
    whole = results(COPIED)
    assert list(tiers.tiers(whole)) == ["database"]
    assert tiers.entries(whole, tiers.tiers(whole)) == ["database"]
    assert tiers.copies(whole) == {"client": [1], "server": [2]}


def test_a_host_written_with_a_higher_number_is_no_copy() -> None:
    system = {**COPIED, "hosts": {**COPIED["hosts"], "server-7": {"provider": "namespaces"}}}
    assert [tiers.Written(results(system)).host(f"server-{number}") for number in (2, 6, 7)] == [
        "server",
        "server",
        "server-7",
    ]


def test_the_generator_is_in_the_frame_of_its_host() -> None:
    figure, _ = shown(results(SYSTEM, run(1, copied(1))))
    assert texts(figure)[:2] == ["host client", "host server"]
    assert tiers.generator_places(results(SYSTEM)) == {"client": []}, (
        "without a run, the generator is where the description of the study places it"
    )


def test_links_are_named() -> None:
    whole = results(SYSTEM, run(1, copied(1)), run(2, copied(1, "tun")), run(3, copied(1, "veth")))
    figure, _ = shown(whole)
    assert texts(figure)[-1] == "Links of hosts: bridge, tun or veth"
    assert tiers.links(results(SYSTEM)) == ["bridge"]
    assert tiers.links(results({**SYSTEM, "hosts": {"here": {"provider": "local"}}})) == []


def test_a_generator_outside_of_a_host_is_not_drawn_inside() -> None:
    alone = {**SYSTEM, "hosts": {"server": {"provider": "namespaces"}}, "generator": {}}
    manifest = {"hosts": {"server": {}}, "tiers": {"database": {"kind": "postgresql", "host": "server"}}}
    figure, _ = shown(results(alone, run(1, manifest)))
    assert frames(figure) == {"host server": 1}
    # Identical hosts, in the form of the description of a study.
    several = {**COPIED, "hosts": {"server-1": {"provider": "namespaces"}}, "generator": {}}
    manifest = {name: host for name, host in copied(2).items() if name != "generator_host"}
    del manifest["hosts"]["client"]
    assert frames(shown(results(several, run(1, manifest)))[0]) == {"host server × 2": 1}
    here = {**alone, "hosts": {"server": {"provider": "local"}}}
    assert frames(shown(results(here))[0]) == {"host server": 2}


def test_a_tier_that_moves_is_drawn_where_it_mostly_was() -> None:
    manifest = {"hosts": {"client": {}, "server": {}}, "generator_host": "client"}
    at = {name: {"tiers": {"database": {"kind": "postgresql", "host": name}}} for name in ("server", "client")}
    runs = [run(n, {**manifest, **at["server"]}, link="veth") for n in (1, 2)]
    figure, table = shown(results(SYSTEM, *runs, run(3, {**manifest, **at["client"]}, link="loopback")))
    assert table.rows[0][2] == "server; client (link loopback)"
    assert "The drawing shows database as in most runs; in others it was on client (link loopback)." in figure.note


def test_nodes_are_asked_like_their_service() -> None:
    system = {
        "hosts": {"edge": {}, "web": {}},
        "services": {
            "gateway": {"kind": "haproxy", "host": "edge", "members": ["content"]},
            "content": {"kind": "content_server", "host": "web", "storage": "area", "settings": {"database": "sqlite"}},
            "area": {"kind": "glusterfs_mount", "host": "web", "servers": ["store"]},
            "store": {"kind": "glusterfs_server", "host": "edge"},
        },
        "targets": {"content": {"service": "gateway"}},
    }
    described = {"content-2": {"kind": "content_server", "host": "web"}}
    whole = results(system, run(1, {"tiers": described}))
    found = tiers.tiers(whole)
    assert found["gateway"].asks == ["content", "content-2"]
    assert found["content"].asks == found["content-2"].asks == ["area"]
    assert found["area"].asks == ["store"]
    assert tiers.entries(whole, found) == ["gateway"]
    straight = results({**system, "targets": {"content": {"service": "content"}}}, run(1, {"tiers": described}))
    assert tiers.entries(straight, tiers.tiers(straight)) == ["content", "content-2"]


@pytest.mark.parametrize(
    ("tier", "host", "name"),
    [
        ("database-3", "server-3", "database"),
        ("database-3-2", "server-3", "database-2"),
        ("database", "server", "database"),
        ("database-2", "server", "database-2"),
        ("relay-server-12", "", "relay-server"),
        ("relay-client", "", "relay-client"),
    ],
)
def test_names_of_copies_are_those_of_the_study(tier: str, host: str, name: str) -> None:
    for system in (SYSTEM, COPIED):
        assert tiers.Written(results(system)).tier(tier, host) == name


@pytest.mark.parametrize(
    ("numbers", "words"), [([], ""), ([1], ""), ([6], "× 6"), ([1, 6], "× 1 or 6"), ([1, 2, 40], "× 1, 2 or 40")]
)
def test_numbers_behind_a_name(numbers: list[int], words: str) -> None:
    assert tiers.times(numbers) == words
