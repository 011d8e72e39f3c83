from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from towtank.errors import StudyError
from towtank.workload import compile_workload, load_workload

WORKLOAD = """\
schema: towtank/workload/1
name: one
parameters: {theme: dark}
transactions: {view: [{get: /, target: shop}]}
groups:
  all:
    loop: {mix: {view: 100}}
    cookies: FORM
"""
TARGETS = {"shop": ["127.0.0.1:1"], "files": ["127.0.0.1:2"], "directory": ["ldap://127.0.0.1:3"]}


def part(folder: Path, form: str, *targets: str) -> Any:
    path = folder / "one.yaml"
    path.write_text(WORKLOAD.replace("FORM", form))
    wanted = {name: TARGETS[name] for name in targets or ("shop", "files")}
    return compile_workload(load_workload(path), targets=wanted)["groups"][0].get("cookies")


@pytest.mark.parametrize(("kept", "planned"), [("per_user", "user"), ("per_round", "round"), ("never", "never")])
def test_cookies_are_kept_as_the_group_says(kept: str, planned: str, tmp_path: Path) -> None:
    given = (
        "{name: a, value: 1, target: files}, {name: theme, value: '${parameters.theme}$${x}', path: /p, target: shop}"
    )
    assert part(tmp_path, f"{{kept: {kept}, given: [{given}]}}") == {
        "kept": planned,
        "given": [
            {"target": 1, "path": "/", "name": "a", "value": "1"},
            {"target": 0, "path": "/p", "name": "theme", "value": "dark${x}"},
        ],
    }


def test_a_group_that_says_nothing_has_no_part_of_the_plan(tmp_path: Path) -> None:
    assert part(tmp_path, "{}") is None
    assert part(tmp_path, "{kept: per_user}") is None


def test_the_only_target_need_not_be_named(tmp_path: Path) -> None:
    assert part(tmp_path, "{given: [{name: a, value: b}]}", "shop", "directory")["given"][0]["target"] == 0


@pytest.mark.parametrize(
    ("form", "reported"),
    [
        ("{kept: always}", "8:21: groups.all.cookies.kept: must be per_user, per_round or never"),
        ("{given: [{name: a=b, value: x}]}", "8:30: groups.all.cookies.given[0].name: must be the name"),
        ("{given: [{name: a, value: x;y}]}", "8:40: groups.all.cookies.given[0].value: must not contain ';'"),
        ('{given: [{name: a, value: "x\\ny"}]}', "8:40: groups.all.cookies.given[0].value: must be a text on one line"),
        ("{given: [{name: a, value: '${uuid}'}]}", "8:40: groups.all.cookies.given[0].value: must be the same for all"),
        ("{given: [{name: a, value: x, path: y}]}", "8:49: groups.all.cookies.given[0].path: must be a path that"),
        ("{given: [{name: a, value: x}]}", "8:23: groups.all.cookies.given[0]: must name its target (shop, files)"),
        ("{given: [{name: a, value: x, target: shp}]}", "8:51: groups.all.cookies.given[0].target: must be a target"),
    ],
)
def test_what_is_refused(tmp_path: Path, form: str, reported: str) -> None:
    with pytest.raises(StudyError) as caught:
        part(tmp_path, form)
    assert reported in str(caught.value)
    assert len(caught.value.faults) == 1
