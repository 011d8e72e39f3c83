"""Draws a system as SVG: hosts as frames, the load generator and the tiers as boxes, requests as arrows.

Boxes are arranged in columns: the generator on the left, then the tiers by their distance from the generator. A host
with several copies has a second frame behind the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

from towtank.report import bidi, theme

_BOX_WIDTH = 176
_LINE = 17
_GAP_X = 76
_GAP_Y = 34
_PAD = 16
_HEAD = 26
_BEHIND = 6  # Offset between the two frames of a host with several copies. [px]
_LETTER = (
    6.6  # Mean width of a letter at a font size of 12 px, by which texts are shortened to the width of a box. [px]
)


@dataclass(frozen=True)
class Box:
    """Box in the drawing of a system, for the load generator or a tier; its name is its label.

    `lines` stand below the label, `parts` are the texts of smaller boxes inside the box, and `asks` are the names of
    the boxes to which this box sends requests. A box without a host has no frame.
    """

    name: str
    lines: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    host: str = ""
    asks: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class _Placed:
    box: Box
    x: float
    y: float
    height: float
    column: int

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def draw(boxes: list[Box], title: str, *, times: Mapping[str, str] | None = None, legend: str = "") -> str:
    """Draw boxes, their host frames and arrows as SVG; the first box is the load generator.

    The title describes the drawing, for readers who do not see it. `times` has the text that follows the name of a host
    with several copies, such as `× 2`, by host. The legend is a line below the drawing.
    """
    placed, times = _place(boxes), times or {}
    width = max(placed_box.x for placed_box in placed) + _BOX_WIDTH + 2 * _PAD + _BEHIND
    bottom = max(placed_box.y + placed_box.height for placed_box in placed) + 2 * _PAD + _BEHIND
    height = bottom + (_LINE if legend else 0)
    svg = canvas(width, height, title, 12)
    for host in dict.fromkeys(box.host for box in boxes if box.host):
        _frame(svg, host, [placed_box for placed_box in placed if placed_box.box.host == host], times.get(host, ""))
    by_name = {placed_box.box.name: placed_box for placed_box in placed}
    for each in placed:
        for target in each.box.asks:
            if target in by_name and target != each.box.name:
                _arrow(svg, each, by_name[target])
    for index, placed_box in enumerate(placed):
        _box(svg, placed_box, theme.COLOURS[(index - 1) % len(theme.COLOURS)] if index else theme.MUTED)
    if legend:
        _text(svg, _PAD, bottom + 4, legend, width=width - 2 * _PAD, style={"fill": theme.MUTED})
    return ElementTree.tostring(svg, encoding="unicode")


def canvas(width: float, height: float, title: str, font_px: int) -> ElementTree.Element:
    """Return an empty white SVG drawing with a title and the font of all figures; sizes are in pixels."""
    svg = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width:g} {height:g}",
            "width": f"{width:g}",
            "height": f"{height:g}",
            "role": "img",
            "font-family": theme.FONT,
            "font-size": f"{font_px}",
            "fill": theme.INK,
        },
    )
    ElementTree.SubElement(svg, "title").text = title
    ElementTree.SubElement(svg, "rect", {"width": "100%", "height": "100%", "fill": "white"})
    return svg


def _columns(boxes: list[Box]) -> dict[str, int]:
    """Return the column of each box: the number of arrows from the first box, or 1 if no path leads to the box."""
    column = {boxes[0].name: 0}
    asks = {box.name: box.asks for box in boxes}
    frontier = [boxes[0].name]
    while frontier:
        name = frontier.pop(0)
        for target in asks[name]:
            if target in asks and target not in column:
                column[target] = column[name] + 1
                frontier.append(target)
    return {box.name: column.get(box.name, 1) for box in boxes}


def _place(boxes: list[Box]) -> list[_Placed]:
    columns = _columns(boxes)
    below: dict[tuple[int, str], float] = {}
    # The boxes of a host begin below all boxes of the previous hosts, so that frames do not overlap.
    tops: dict[str, float] = {}
    floor = float(_PAD + _HEAD)
    placed: dict[str, _Placed] = {}
    for host in dict.fromkeys(box.host for box in boxes):
        tops[host] = floor
        for box in (member for member in boxes if member.host == host):
            column = columns[box.name]
            y = below.get((column, host), tops[host])
            height = 2 * 9 + _LINE * (1 + len(box.lines)) + (len(box.parts) * (_LINE + 9))
            placed[box.name] = _Placed(box, 2 * _PAD + column * (_BOX_WIDTH + _GAP_X), y, height, column)
            below[(column, host)] = y + height + _GAP_Y
            floor = max(floor, y + height + _GAP_Y + _HEAD)
    return [placed[box.name] for box in boxes]


def _frame(svg: ElementTree.Element, host: str, members: list[_Placed], times: str) -> None:
    """Draw the frame of a host, or two frames for a host with several copies."""
    left, top = min(member.x for member in members) - _PAD, min(member.y for member in members) - _HEAD
    right = max(member.x for member in members) + _BOX_WIDTH + _PAD
    bottom = max(member.y + member.height for member in members) + _PAD
    for shift in (_BEHIND, 0) if times else (0,):
        frame = {
            "x": f"{left + shift:g}",
            "y": f"{top + shift:g}",
            "width": f"{right - left:g}",
            "height": f"{bottom - top:g}",
            "rx": "6",
            "fill": "#f7f7f7",
            "stroke": "#b5b5b5",
            "stroke-dasharray": "5 4",
        }
        ElementTree.SubElement(svg, "rect", frame)
    label = f"host {host} {times}".rstrip()
    _text(svg, left + 10, top + 17, label, width=right - left - 20, style={"fill": theme.MUTED})


def _box(svg: ElementTree.Element, placed_box: _Placed, colour: str) -> None:
    outline = {
        "x": f"{placed_box.x:g}",
        "y": f"{placed_box.y:g}",
        "width": str(_BOX_WIDTH),
        "height": f"{placed_box.height:g}",
        "rx": "4",
        "fill": "white",
        "stroke": colour,
        "stroke-width": "2",
    }
    ElementTree.SubElement(svg, "rect", outline)
    y = placed_box.y + 9 + 12
    _text(svg, placed_box.x + 10, y, placed_box.box.name, width=_BOX_WIDTH - 20, style={"font-weight": "bold"})
    for line in placed_box.box.lines:
        y += _LINE
        _text(svg, placed_box.x + 10, y, line, width=_BOX_WIDTH - 20, style={})
    y += 7
    for part in placed_box.box.parts:
        inner = {
            "x": f"{placed_box.x + 10:g}",
            "y": f"{y:g}",
            "width": str(_BOX_WIDTH - 20),
            "height": f"{_LINE + 4}",
            "rx": "3",
            "fill": "#eef4f9",
            "stroke": colour,
        }
        ElementTree.SubElement(svg, "rect", inner)
        _text(svg, placed_box.x + 18, y + 15, part, width=_BOX_WIDTH - 36, style={})
        y += _LINE + 9


def _arrow(svg: ElementTree.Element, start: _Placed, end: _Placed) -> None:
    """Draw an arrow between two boxes: horizontally between columns, vertically within a column."""
    if start.column == end.column:
        x = start.x + _BOX_WIDTH / 2
        down = end.y > start.y
        points = [
            (x, start.y + start.height if down else start.y),
            (x, end.y if down else end.y + end.height),
        ]
    else:
        right = end.column > start.column
        begin, finish = (start.x + _BOX_WIDTH, end.x) if right else (start.x, end.x + _BOX_WIDTH)
        bend = (begin + finish) / 2
        points = [(begin, start.middle), (bend, start.middle), (bend, end.middle), (finish, end.middle)]
    path = "M" + " L".join(f"{x:g},{y:g}" for x, y in points)
    ElementTree.SubElement(svg, "path", {"d": path, "fill": "none", "stroke": theme.INK, "stroke-width": "1.4"})
    (x0, y0), (x1, y1) = points[-2:]
    length = max(abs(x1 - x0) + abs(y1 - y0), 1.0)
    along, across = ((x1 - x0) / length, (y1 - y0) / length), ((y0 - y1) / length, (x1 - x0) / length)
    back = (x1 - 9 * along[0], y1 - 9 * along[1])
    head = [(x1, y1), *((back[0] + side * across[0], back[1] + side * across[1]) for side in (4.5, -4.5))]
    ElementTree.SubElement(svg, "polygon", {"points": " ".join(f"{x:g},{y:g}" for x, y in head), "fill": theme.INK})


def _text(svg: ElementTree.Element, x: float, y: float, words: str, *, width: float, style: dict[str, str]) -> None:
    room = max(1, int(width / _LETTER))
    shown = words if len(words) <= room else words[: room - 1] + "…"
    # XML does not allow control characters, which names may contain.
    shown = "".join(letter if letter.isprintable() else "�" for letter in shown)
    ElementTree.SubElement(svg, "text", {"x": f"{x:g}", "y": f"{y:g}", **style}).text = bidi.plain(shown)
