"""The pictures of a report are drawn once and stored with the results. A stored picture is used until its specification
changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from towtank.report import pictures
from towtank.report.pictures import Pictures, digest, is_drawing

SPEC: dict[str, Any] = {"mark": "point", "data": {"values": [{"x": 1}]}}
DRAWN = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>'


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Record the specifications for which a picture is drawn, and return this record."""
    specs: list[dict[str, Any]] = []

    def draw(spec: dict[str, Any]) -> str:
        specs.append(spec)
        return DRAWN

    monkeypatch.setattr(pictures, "static_svg", draw)
    return specs


def make(path: Path, *specs: dict[str, Any]) -> list[str]:
    """Return the pictures of a report, and store them with the results."""
    made = Pictures(path)
    found = [made.of(spec) for spec in specs]
    made.keep()
    return found


def test_a_kept_picture_is_not_drawn_again(tmp_path: Path, drawn: list[dict[str, Any]]) -> None:
    path = tmp_path / "pictures.json"
    assert make(path, SPEC) == make(path, dict(reversed(SPEC.items()))) == [DRAWN]
    assert drawn == [SPEC]


def test_another_specification_is_drawn(tmp_path: Path, drawn: list[dict[str, Any]]) -> None:
    path = tmp_path / "pictures.json"
    other = {**SPEC, "mark": "line"}
    make(path, SPEC)
    make(path, other)
    assert drawn == [SPEC, other]
    assert set(json.loads(path.read_text())) == {"schema", digest(other)}, (
        "only the pictures of the latest report remain stored"
    )


def test_another_version_of_vega_draws_again(
    tmp_path: Path, drawn: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pictures.json"
    make(path, SPEC)
    monkeypatch.setattr(pictures.theme, "VEGA_LITE_VERSION", "0.1")
    make(path, SPEC)
    assert len(drawn) == 2


@pytest.mark.parametrize("text", ["", "[]", "{", '{"pictures": 1}', '{"schema": "towtank/pictures/1", "0": []}'])
def test_a_damaged_file_is_made_again(tmp_path: Path, drawn: list[dict[str, Any]], text: str) -> None:
    path = tmp_path / "pictures.json"
    path.write_text(text)
    assert make(path, SPEC) == [DRAWN]
    assert len(drawn) == 1
    assert make(path, SPEC) == [DRAWN]
    assert len(drawn) == 1


@pytest.mark.parametrize(
    "svg",
    [
        "",
        "no picture",
        "<svg>",
        "<svg></svg><p></p>",
        "<svg><script>alert(1)</script></svg>",
        '<svg><path onclick="alert(1)"/></svg>',
        '<svg><g href="http://example.com"/></svg>',
        '<svg><rect fill="url(http://example.com/a)"/></svg>',
        '<svg><rect style="fill: red"/></svg>',
        '<svg><foreignObject><p xmlns="http://www.w3.org/1999/xhtml">text</p></foreignObject></svg>',
        "<svg><title><![CDATA[</title><script>]]></title></svg>",
        "<svg><!-- --></svg>",
        "<svg><?xml-stylesheet href='a'?></svg>",
        '<!DOCTYPE svg [<!ENTITY a "b">]><svg>&a;</svg>',
    ],
)
def test_a_kept_text_that_is_no_plain_drawing_is_drawn_again(
    tmp_path: Path, drawn: list[dict[str, Any]], svg: str
) -> None:
    path = tmp_path / "pictures.json"
    path.write_text(json.dumps({"schema": pictures.SCHEMA, digest(SPEC): svg}))
    assert make(path, SPEC) == [DRAWN]
    assert drawn == [SPEC]


def test_what_vega_draws_is_a_plain_drawing() -> None:
    assert is_drawing(pictures.static_svg(SPEC))


def test_without_a_file_nothing_is_kept(tmp_path: Path, drawn: list[dict[str, Any]]) -> None:
    made = Pictures()
    made.of(SPEC)
    made.keep()
    assert list(tmp_path.iterdir()) == []
    assert drawn == [SPEC]
