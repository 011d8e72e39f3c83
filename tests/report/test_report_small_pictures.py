"""A compact drawing shows the same as the original drawing, in fewer bytes."""

from __future__ import annotations

from xml.etree import ElementTree

from towtank.report import compact_svg, static_svg

SVG = "{http://www.w3.org/2000/svg}"
LINE = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
    "width": 300,
    "height": 100,
    "data": {"values": [{"x": x, "y": x * x % 7, "kind": "ab"[x % 2]} for x in range(20)]},
    "mark": {"type": "line", "clip": True},
    "encoding": {
        "x": {"field": "x", "type": "quantitative", "title": "users & others"},
        "y": {"field": "y", "type": "quantitative"},
        "color": {"field": "kind", "type": "nominal"},
    },
}


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def drawn(svg: str) -> list[tuple[str | None, ...]]:
    """Return the colours, width and number of points of each path that is filled or stroked."""
    paths = ElementTree.fromstring(svg).iter(f"{SVG}path")
    return [
        (path.get("fill"), path.get("stroke"), path.get("stroke-width"), str(path.get("d", "").count("L")))
        for path in paths
        if path.get("display") != "none" and (path.get("fill") or path.get("stroke"))
    ]


def test_texts_lines_and_clips_remain_in_fewer_bytes() -> None:
    svg = static_svg(LINE)
    small = compact_svg(svg)
    assert len(small) < 0.6 * len(svg)
    assert texts(small) == texts(svg) and "users & others" in texts(small)
    assert drawn(small) == drawn(svg) and len(drawn(small)) >= 4
    assert small.count("url(#") == svg.count("url(#") > 0
    assert small.count("clipPath id") == svg.count("clipPath id") > 0
    assert "aria-" not in small and small.count("font-family") == 1


def test_a_long_line_keeps_the_extremes_of_each_column_of_pixels() -> None:
    """Each column of pixels has the values 50, 60 and 10. Only the highest and the lowest value, 60 and 10, remain."""
    points = [f"{x},{y}" for column in range(500) for x, y in ((column, 50), (column + 0.4, 60), (column + 0.8, 10))]
    small = compact_svg(f'<svg xmlns="http://www.w3.org/2000/svg"><path stroke="red" d="M{"L".join(points)}"/></svg>')
    path = ElementTree.fromstring(small).find(f"{SVG}path")
    assert path is not None
    kept = [
        f"{x},{y}" for column in range(500) for x, y in ((round(column + 0.4, 1), 60), (round(column + 0.8, 1), 10))
    ]
    assert path.get("d", "").removeprefix("M").split("L") == kept


def test_a_line_with_gaps_keeps_its_gaps() -> None:
    part = "L".join(f"{x / 10},{x % 3}" for x in range(1500))
    small = compact_svg(f'<svg xmlns="http://www.w3.org/2000/svg"><path stroke="red" d="M{part}M200,1M{part}"/></svg>')
    assert small.count("M") == 3 and "M200,1M" in small
    assert small.count("L") < 700
