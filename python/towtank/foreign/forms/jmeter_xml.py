"""Reads JMeter's result file (JTL) as XML: elements `sample` and `httpSample` below `testResults`."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from towtank.foreign.forms.found import Found
from towtank.foreign.forms.jmeter_csv import SUMS_UP, Sample, leave_out_sums
from towtank.foreign.forms.tables import truth
from towtank.foreign.requests import BadRowError, Collector, number_of, text_of
from towtank.foreign.source import Source

NAME = "JMeter JTL (XML)"
_SAMPLES = ("sample", "httpSample")


def recognises(head: str) -> bool:
    """Return True if the root element is `testResults` of JMeter."""
    return "<testResults" in head[:4096]


class _Elements:
    """Elements directly below the root element. Samples nested in another sample are not yielded. `cut` is the reason
    why the file is incomplete; empty if it is complete.
    """

    def __init__(self, source: Source) -> None:
        self.source, self.cut = source, ""

    def __iter__(self) -> Iterator[Element]:
        parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
        depth = 0
        root: Element | None = None
        try:
            for line in self.source.lines():
                parser.feed(line)
                for event, element in parser.read_events():  # type: ignore[misc]  # pairs, for these two events
                    assert isinstance(element, Element)
                    root = element if root is None else root
                    depth += 1 if event == "start" else -1
                    if event == "end" and depth == 1:
                        yield element
                        root.clear()
            parser.close()
        except ParseError as fault:
            self.cut = f"the XML is damaged or cut off ({fault})"


def read(source: Source, rows: Collector) -> Found:
    """Read the samples up to the end of the file, or up to the first damaged line."""
    elements, samples = _Elements(source), []
    for element in elements:
        if element.tag not in _SAMPLES:
            continue
        try:
            sample = Sample(
                number_of(element.attrib, "ts") / 1e3,
                number_of(element.attrib, "t") / 1e3,
                truth(text_of(element.attrib, "s"), "s"),
                text_of(element.attrib, "lb"),
                text_of(element.attrib, "tn"),
                text_of(element.attrib, "rm").startswith(SUMS_UP),
            )
            rows.add(sample.start_s, sample.elapsed_s, sample.ok, sample.label)
        except BadRowError as fault:
            rows.skipped.add(str(fault), None)
            continue
        samples.append(sample)
    return Found(notes=leave_out_sums(samples, rows), cut=elements.cut)
