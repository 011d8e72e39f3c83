"""A small workload is compiled; the result must be exactly the expected plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from towtank.errors import StudyError
from towtank.files import engine_path
from towtank.workload import compile_workload, load_workload

WORKLOAD = """\
schema: towtank/workload/1
name: exact
parameters: {pause: 2 s, weight: 40}
data:
  accounts: {csv: "${system.web.accounts_csv}", columns: [user], order: sequential}
  rows:
    columns: [id, often, unused]
    rows: [[a, 3, x], [b, 1, y]]
    weight: often
defaults:
  headers: {Accept: text/html}
  auth: {user: "${accounts.user}", password: secret}
  timeout: 10 s
transactions:
  start:
    - draw: accounts
  view:
    - draw: rows
    - get: /item/${rows.id|url}?x=1
      name: open
      headers: {accept: "*/*", X-User: "u${user.number}"}
      query: {q: "a b&${rows.id}", n: 5, yes: true}
      check:
        status: [200, 3xx]
        size: {min: 1 KiB}
        contains: [a, "${rows.id}"]
        not_regex: "err(or)?"
        json: {"$.a['b']": "${rows.id}", $.c: null}
        header: {ETag: x}
      extract:
        tag: {header: ETag}
        links: {regex: 'href="([^"]*)"', pick: all}
        n: {json: "$.items[*]", pick: count, default: 0}
        code: {status: true}
    - think: {normal: {mean: 2 s, sd: 1 s}}
    - set: {a: x, b: "${random.int(1, 6)}-${iteration}-${now.ms}"}
    - post: /form
      auth: none
      form: {f: "a b", g: "${tag}"}
      timeout: 3 s
      on_failure: go_on
  write:
    - page: one
      steps:
        - post: /json
          json: {name: "say \\"${rows.id}\\"", list: [1, true, null, "${uuid}"], empty: {}}
        - put: /text
          body: $${literal} ${random.text(8)}
    - pick: links
      into: link
    - if: {filled: link}
      then:
        - get: ${link}
      else:
        - branch: 12.5 %
          then:
            - push: ${a}
              to: links
    - loop: 3
      steps:
        - head: /h
    - loop: {min: 1, max: 2}
      steps:
        - pop: links
          into: link
          pick: first
    - post: /up
      multipart:
        field: v
        small: {value: x, filename: s.txt, content_type: text/plain}
        big: {generated: {size: 2 KiB, form: text}}
        disk: {file: up.txt}
    - put: /raw
      file: up.txt
groups:
  all:
    share: 100 %
    once: [start, view]
    loop:
      think: {exponential: "${parameters.pause}"}
      mix: {view: 60, write: "${parameters.weight}"}
    end: [start]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "workload.yaml").write_text(WORKLOAD)
    (tmp_path / "up.txt").write_text("up")
    (tmp_path / "accounts.csv").write_text("password,user\np,u\n")
    return tmp_path


def compiled(folder: Path, **options: Any) -> dict[str, Any]:
    exports = {"web": {"accounts_csv": str(folder / "accounts.csv")}}
    return compile_workload(
        load_workload(folder / "workload.yaml"),
        **{"targets": {"web": ["http://127.0.0.1:8080", "127.0.0.1:8081"]}, "exports": exports, **options},
    )


def test_frame_of_the_plan(folder: Path) -> None:
    plan = compiled(folder)
    assert list(plan) == [
        "targets",
        "connections",
        "timeouts",
        "pools",
        "variables",
        "lists",
        "steps",
        "pages",
        "transactions",
        "groups",
    ]
    assert plan["targets"] == [
        {
            "name": "web",
            "scheme": "http",
            "addresses": ["127.0.0.1:8080", "127.0.0.1:8081"],
            "balance": "round_robin",
            "host": "127.0.0.1:8080",
        }
    ]
    assert plan["connections"] == {"mode": "per_user"}
    assert plan["timeouts"] == {"connect_s": 5.0, "response_s": 10.0, "drain_s": 30.0}
    assert plan["pools"] == [
        {
            "name": "accounts",
            "columns": ["password", "user"],
            "order": "sequential",
            "csv": engine_path(folder / "accounts.csv"),
        },
        {
            "name": "rows",
            "columns": ["id", "often", "unused"],
            "order": "weighted",
            "rows": [["a", "3", "x"], ["b", "1", "y"]],
            "weights": [3.0, 1.0],
        },
    ]
    assert plan["variables"] == ["accounts.user", "rows.id", "tag", "n", "code", "a", "b", "link"]
    assert plan["lists"] == ["links"]
    assert plan["steps"] == [
        {"name": "open", "transaction": "view"},
        {"name": "POST /form", "transaction": "view"},
        {"name": "POST /json", "transaction": "write"},
        {"name": "PUT /text", "transaction": "write"},
        {"name": "GET ${link}", "transaction": "write"},
        {"name": "HEAD /h", "transaction": "write"},
        {"name": "POST /up", "transaction": "write"},
        {"name": "PUT /raw", "transaction": "write"},
    ]
    assert plan["pages"] == [
        {"name": "view 1", "transaction": "view"},
        {"name": "view 2", "transaction": "view"},
        {"name": "one", "transaction": "write"},
    ]
    assert plan["groups"] == [
        {
            "name": "all",
            "share": 1.0,
            "once": [{"op": "transaction", "transaction": 0}, {"op": "transaction", "transaction": 1}],
            "think": {"dist": "exponential", "mean_s": 2.0},
            "pacing": None,
            "mix": [{"transaction": 1, "weight": 60.0}, {"transaction": 2, "weight": 40.0}],
            "exit": [{"op": "transaction", "transaction": 0}],
        }
    ]


AUTH = {"user": [{"variable": 0, "encode": "none"}], "password": ["secret"]}


def test_first_page_of_the_plan(folder: Path) -> None:
    start, view, _ = compiled(folder)["transactions"]
    assert start == {"name": "start", "ops": [{"op": "draw", "pool": 0, "variables": [None, 0]}]}
    first, think, second = view["ops"]
    assert think == {
        "op": "think",
        "pause": {"dist": "normal", "mean_s": 2.0, "sd_s": 1.0, "min_s": 0.0, "max_s": 6.0},
    }
    assert first == {
        "op": "page",
        "page": 0,
        "ops": [
            {"op": "draw", "pool": 1, "variables": [1, None, None]},
            {
                "op": "request",
                "step": 0,
                "target": 0,
                "method": "GET",
                "path": [
                    "/item/",
                    {"variable": 1, "encode": "url"},
                    "?x=1&q=a%20b%26",
                    {"variable": 1, "encode": "url"},
                    "&n=5&yes=true",
                ],
                "headers": [["accept", ["*/*"]], ["X-User", ["u", {"function": "user"}]]],
                "auth": AUTH,
                "body": None,
                "extract": [
                    {
                        "into": {"variable": 2},
                        "from": "header",
                        "expression": "ETag",
                        "pick": "first",
                        "required": True,
                        "default": None,
                    },
                    {
                        "into": {"list": 0},
                        "from": "regex",
                        "expression": 'href="([^"]*)"',
                        "pick": "all",
                        "required": True,
                        "default": None,
                    },
                    {
                        "into": {"variable": 3},
                        "from": "json",
                        "expression": "$.items[*]",
                        "pick": "count",
                        "required": False,
                        "default": "0",
                    },
                    {
                        "into": {"variable": 4},
                        "from": "status",
                        "expression": "",
                        "pick": "first",
                        "required": True,
                        "default": None,
                    },
                ],
                "checks": [
                    {"kind": "status", "in": [200, *range(300, 400)]},
                    {"kind": "size", "min": 1024},
                    {"kind": "contains", "text": ["a"], "not": False},
                    {"kind": "contains", "text": [{"variable": 1, "encode": "none"}], "not": False},
                    {"kind": "regex", "pattern": "err(or)?", "not": True},
                    {"kind": "json", "expression": "$.a['b']", "equals": [{"variable": 1, "encode": "none"}]},
                    {"kind": "json", "expression": "$.c", "equals": None},
                    {"kind": "header", "name": "ETag", "contains": ["x"]},
                ],
                "timeout_s": None,
                "on_failure": "end",
            },
        ],
    }
    assert second["page"] == 1
    several, form = second["ops"]
    assert several == {
        "op": "loop",
        "count": 1,
        "ops": [
            {"op": "set", "variable": 5, "value": ["x"]},
            {
                "op": "set",
                "variable": 6,
                "value": [
                    {"function": "random_int", "min": 1, "max": 6},
                    "-",
                    {"function": "iteration"},
                    "-",
                    {"function": "now_ms"},
                ],
            },
        ],
    }
    assert form["body"] == {"kind": "text", "template": ["f=a%20b&g=", {"variable": 2, "encode": "url"}]}
    assert form["headers"] == [
        ["Accept", ["text/html"]],
        ["Content-Type", ["application/x-www-form-urlencoded"]],
    ]
    assert (form["auth"], form["timeout_s"], form["on_failure"]) == (None, 3.0, "go_on")


def test_bodies_lists_and_blocks_of_the_plan(folder: Path) -> None:
    page, pick, condition, loop, other, upload, raw = compiled(folder)["transactions"][2]["ops"]
    json_body, text_body = (request["body"] for request in page["ops"])
    assert json_body["template"] == [
        '{"name":"say \\"',
        {"variable": 1, "encode": "json"},
        '\\"","list":[1,true,null,"',
        {"function": "uuid"},
        '"],"empty":{}}',
    ]
    assert text_body == {"kind": "text", "template": ["${literal} ", {"function": "random_text", "bytes": 8}]}
    assert pick == {"op": "pick", "list": 0, "variable": 7}
    assert condition["test"] == {"variable": 7, "is": "filled"}
    assert condition["then"][0]["path"] == [{"variable": 7, "encode": "none"}]
    assert condition["else"] == [
        {
            "op": "branch",
            "percent": 12.5,
            "then": [{"op": "push", "list": 0, "value": [{"variable": 5, "encode": "none"}]}],
            "else": [],
        }
    ]
    assert (loop["count"], other["count"]) == (3, {"min": 1, "max": 2})
    assert other["ops"] == [{"op": "pop", "list": 0, "variable": 7, "pick": "first"}]
    assert upload["body"] == {
        "kind": "multipart",
        "parts": [
            {"name": "field", "filename": None, "content_type": None, "content": ["v"]},
            {"name": "small", "filename": ["s.txt"], "content_type": "text/plain", "content": ["x"]},
            {
                "name": "big",
                "filename": None,
                "content_type": None,
                "generated": {"bytes": 2048, "form": "text"},
            },
            {
                "name": "disk",
                "filename": ["up.txt"],
                "content_type": "text/plain",
                "file": engine_path(folder / "up.txt"),
            },
        ],
    }
    assert raw["body"] == {"kind": "file", "path": engine_path(folder / "up.txt")}
    assert raw["headers"] == [["Accept", ["text/html"]], ["Content-Type", ["text/plain"]]]


def plan_of(folder: Path, step: str, parameters: str = "{}") -> dict[str, Any]:
    """Return the compiled request of a workload that has a single step."""
    file = folder / "single.yaml"
    head = f"schema: towtank/workload/1\nname: single\nparameters: {parameters}\n"
    file.write_text(f"{head}transactions: {{t: [{step}]}}\ngroups: {{g: {{loop: {{mix: {{t: 1}}}}}}}}\n")
    plan = compile_workload(load_workload(file), targets={"web": ["127.0.0.1:1"]})
    (page,) = plan["transactions"][0]["ops"]
    request: dict[str, Any] = page["ops"][0]
    return request


def test_parts_of_a_list_may_have_one_name(folder: Path) -> None:
    parts = "[{name: f, file: up.txt}, {name: f, value: '${uuid}', filename: b.txt}, {name: n, value: 7}]"
    file = {"name": "f", "filename": ["up.txt"], "content_type": "text/plain", "file": engine_path(folder / "up.txt")}
    assert plan_of(folder, f"{{post: /, multipart: {parts}}}")["body"]["parts"] == [
        file,
        {"name": "f", "filename": ["b.txt"], "content_type": None, "content": [{"function": "uuid"}]},
        {"name": "n", "filename": None, "content_type": None, "content": ["7"]},
    ]


def test_a_path_with_any_letters_is_good(folder: Path) -> None:
    # The engine, not the compiler, encodes the path: crates/load/src/program/path.rs.
    assert plan_of(folder, "{get: '/über?q=\"x\"', query: {n: é}}")["path"] == ['/über?q="x"&n=%C3%A9']


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("${parameters.p}", 'a b&é"<'),
        ("${parameters.p | none}", 'a b&é"<'),
        ("${parameters.p|url}", "a%20b%26%C3%A9%22%3C"),
        ("${parameters.p|json}", 'a b&é\\"<'),
        ("-${parameters.p|html}", "-a b&amp;é&quot;&lt;"),
    ],
)
def test_a_parameter_is_encoded_where_its_place_says_so(folder: Path, place: str, value: str) -> None:
    step = f"{{post: /, body: '{place}'}}"
    assert plan_of(folder, step, "{p: 'a b&é\"<'}")["body"]["template"] == [value]


def test_parameters_change_the_plan(folder: Path) -> None:
    plan = compiled(folder, parameters={"pause": "3 s"})
    assert plan["groups"][0]["think"] == {"dist": "exponential", "mean_s": 3.0}
    with pytest.raises(StudyError, match="duration"):
        compiled(folder, parameters={"pause": 3})
    with pytest.raises(StudyError, match="must be a weight from 0 to 1,000,000,000, got -1 instead"):
        compiled(folder, parameters={"weight": -1})
    with pytest.raises(StudyError, match="did you mean 'pause'"):
        compiled(folder, parameters={"pauze": "3 s"})


def test_balance_and_several_targets(folder: Path) -> None:
    plan = compiled(folder, balance={"web": "random"})
    assert plan["targets"][0]["balance"] == "random"
    with pytest.raises(StudyError, match=r"must name its target \(web, other\)"):
        compiled(folder, targets={"web": ["127.0.0.1:1"], "other": ["127.0.0.1:2"]})


def test_a_missing_export_of_the_system_is_reported(folder: Path) -> None:
    with pytest.raises(
        StudyError, match=r"workload.yaml:5:\d+: data.accounts.csv: must be a value that the system exports"
    ):
        compiled(folder, exports={"web": {"other": "x"}})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "must be a CSV file that can be read"),
        ("", "whose first line names the columns"),
        ("user\n", "with rows below the names of columns"),
        ("name\nx\n", "must have the column 'user', got name"),
        ("user,user\nx,y\n", "with different names of columns"),
    ],
)
def test_data_of_the_system_is_checked_when_it_is_up(folder: Path, content: str | None, message: str) -> None:
    file = folder / "accounts.csv"
    file.unlink()
    if content is not None:
        file.write_text(content)
    with pytest.raises(StudyError) as raised:
        compiled(folder)
    assert message in str(raised.value)
    assert "workload.yaml:5:" in str(raised.value)


def test_think_time_of_pauses_in_words(folder: Path) -> None:
    from towtank.workload.pauses import PauseModel  # noqa: PLC0415

    words = [
        PauseModel.model_validate(pause).words()
        for pause in (
            {"fixed": "2 s"},
            {"exponential": "1 s"},
            {"uniform": {"min": "1 s", "max": "3 s"}},
            {"normal": {"mean": "2 s", "sd": "500 ms", "max": "4 s"}},
        )
    ]
    assert words == [
        "2 s, constant",
        "exponential with mean 1 s",
        "uniform from 1 s to 3 s",
        "normal with mean 2 s and standard deviation 500 ms, cut off at 0 s and 4 s",
    ]


def test_pacing_is_the_time_between_starts(folder: Path) -> None:
    path = folder / "workload.yaml"
    path.write_text(path.read_text().replace('think: {exponential: "${parameters.pause}"}', "pacing: 5 /h per user"))
    group = compiled(folder)["groups"][0]
    assert group["pacing"] == {"dist": "fixed", "mean_s": 720.0}
    assert group["think"] is None
