from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
from reference_pages.schemas import json_schema

from towtank import yamlfile
from towtank.errors import StudyError
from towtank.filecheck import check_file
from towtank.record.script import BrowserAction, actions_opening, load_script

GOOD = """schema: towtank/browser-script/1
steps:
  - open: http://127.0.0.1:8080/
  - fill: {"#user": ana, "#agree": true, "#year": 2026}
  - click: button[type=submit]
  - wait: 1.5 s
"""
BAD = """schema: towtank/browser-script/1
steps:
  - click: "#a"
  - open: ftp://x/
  - wait: 5
  - press: Enter
  - open: http://x/
    click: "#b"
  - fill: {}
  - wait: 2 h
  - click: ""
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "steps.yaml"
    path.write_text(text)
    return path


def test_steps_have_their_places(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    actions = load_script(path)
    assert [(action.kind, action.value) for action in actions] == [
        ("open", "http://127.0.0.1:8080/"),
        ("fill", {"#user": "ana", "#agree": "true", "#year": "2026"}),
        ("click", "button[type=submit]"),
        ("wait", 1.5),
    ]
    assert actions[2] == BrowserAction("click", "button[type=submit]", str(path), 5, 12, "steps[2].click")
    assert check_file(path).faults == []
    assert check_file(path).kind == "browser-script"
    validator = jsonschema.Draft202012Validator(json_schema("browser-script"))
    assert list(validator.iter_errors(yamlfile.load(path).data)) == []


def test_every_fault_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, BAD)
    with pytest.raises(StudyError) as caught:
        load_script(path)
    reported = [str(fault).removeprefix(f"{path}:") for fault in caught.value.faults]
    begins = [
        "3:5: steps[0]: must be a step with the key open",
        "4:11: steps[1].open: must be an http or https URL, got 'ftp://x/' instead",
        "5:11: steps[2].wait: must be a duration in ",
        "6:5: steps[3].press: must be one of the keys open, click, fill, wait, got the unknown key 'press' instead",
        "7:5: steps[4]: must have one of open, click, fill, wait, got open and click instead",
        "9:11: steps[5].fill: must have at least 1 entries, got 0 instead",
        "10:11: steps[6].wait: must be at most 1 h, got 2 h instead",
        "11:12: steps[7].click: must not be empty, got '' instead",
    ]
    assert len(reported) == len(begins), reported
    for line, begin in zip(reported, begins, strict=True):
        assert line.startswith(begin)
    assert check_file(path).faults == caught.value.faults


def test_urls_of_the_command_line() -> None:
    assert actions_opening(["http://a/", "https://b:1/x"])[1] == BrowserAction("open", "https://b:1/x")
    with pytest.raises(StudyError) as caught:
        actions_opening(["a", "http://b/", "file:///etc/passwd"])
    assert len(caught.value.faults) == 2
