"""Creates JUnit XML files, which servers for continuous integration display as test results."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

# Characters that are not allowed in XML 1.0.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RESULTS = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))


def element(tag: str, text: str = "", **attributes: str) -> ET.Element:
    """Return an XML element. Characters that XML does not allow become the replacement character."""
    made = ET.Element(tag, {name: _plain(value) for name, value in attributes.items()})
    if text:
        made.text = _plain(text)
    return made


def _plain(text: str) -> str:
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def suite_of(name: str, cases: Sequence[ET.Element]) -> ET.Element:
    """Return the XML element of a test suite: its test cases, and the numbers of failures, errors and skipped cases."""
    suite = element("testsuite", name=name)
    suite.extend(cases)
    suite.set("tests", str(len(cases)))
    for total, result in _RESULTS:
        suite.set(total, str(sum(case.find(result) is not None for case in cases)))
    return suite


def document(name: str, suites: Sequence[ET.Element], **attributes: str) -> str:
    """Return the text of a JUnit file; its root element counts the test cases of all suites."""
    root = element("testsuites", name=name)
    root.extend(suites)
    for total in ("tests", *(total for total, _ in _RESULTS)):
        root.set(total, str(sum(int(suite.get(total, 0)) for suite in suites)))
    for key, value in attributes.items():
        root.set(key, value)
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
