from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from towtank.workload.importers.accounting import Fate
from towtank.workload.importers.curl.table import OPTIONS
from towtank.workload.importers.curl.words import Splitter

KEYS = json.loads((Path(__file__).parents[2] / "data/imports/keys/curl.json").read_text("utf-8"))["options"]
Importer = Callable[..., Any]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a 'b c' \"d e\"f", [["a", "b c", "d ef"]]),
        ("a \\\n b # c\nd", [["a", "b"], ["d"]]),
        (r"$'it\'s \u00e9\x41\n' \'", [["it's éA\n", "'"]]),
        (r'"\$x \" \n"', [['$x " \\n']]),
        ("a; b && c | d", [["a"], ["b"], ["c"], ["d"]]),
        ('"$A"${B}c', [["${A}${B}c"]]),
        ("a \\\r\n b\r\n", [["a", "b"]]),
        ("''", [[""]]),
    ],
)
def test_words_are_those_of_a_shell(text: str, words: list[list[str]]) -> None:
    assert [[word.text for word in command] for command in Splitter("x", text).split()] == words


def test_places_of_words() -> None:
    (first, second) = Splitter("x", "curl a\n  curl 'b'").split()
    assert [(word.line, word.column) for word in (*first, *second)] == [(1, 1), (1, 6), (2, 3), (2, 8)]


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("curl a.example", {"get": "/"}),
        ("curl -XDELETE http://a/x", {"delete": "/x"}),
        ("curl -I http://a/x", {"head": "/x"}),
        ("curl -sSd a=1 -d b=2 http://a/", {"post": "/", "form": {"a": "1", "b": "2"}}),
        ("curl -G -d q='red shoes' http://a/s", {"get": "/s", "query": {"q": "red shoes"}}),
        ("curl --data-urlencode 'q=a&b' http://a/", {"post": "/", "form": {"q": "a&b"}}),
        (
            """curl --json '{"a": 1}' http://a/""",
            {"post": "/", "headers": {"Accept": "application/json"}, "json": {"a": 1}},
        ),
        (
            "curl -d x -H 'content-type: text/plain' http://a/",
            {"post": "/", "headers": {"content-type": "text/plain"}, "body": "x"},
        ),
        (
            "curl -d 'x' http://a/",
            {"post": "/", "headers": {"Content-Type": "application/x-www-form-urlencoded"}, "body": "x"},
        ),
        ("curl -u me:you:too http://a/", {"get": "/", "auth": {"user": "me", "password": "you:too"}}),
        ("curl -H 'Authorization: Basic YTpi' http://a/", {"get": "/", "auth": {"user": "a", "password": "b"}}),
        ("curl -A me -e http://b/ http://a/", {"get": "/", "headers": {"User-Agent": "me", "Referer": "http://b/"}}),
        ("curl -m 1.5 http://a/", {"get": "/", "timeout": "1.5 s"}),
        (
            "curl -F a=b -F 'c=<nowhere' http://a/",
            {"post": "/", "multipart": {"a": "b", "c": {"generated": {"size": "1 KiB"}}}},
        ),
        ("curl http://a/$ID?x=${ID}", {"get": "/${parameters.id_value}", "query": {"x": "${parameters.id_value}"}}),
    ],
)
def test_one_command(line: str, step: dict[str, Any], import_text: Importer) -> None:
    if "$ID" in line:
        step = {key: _renamed(value) for key, value in step.items()}
    assert import_text("curl", line + "\n").requests() == [step]


def _renamed(value: Any) -> Any:
    """Replace the parameter name `id_value` by `id`, in a value and in everything inside the value."""
    if isinstance(value, dict):
        return {key: _renamed(inner) for key, inner in value.items()}
    return value.replace("id_value", "id")


def test_files_that_are_here_are_sent(import_text: Importer, tmp_path: Any) -> None:
    (tmp_path / "body.bin").write_bytes(b"x")
    found = import_text("curl", f"curl -T '{tmp_path / 'body.bin'}' http://a/\n")
    assert found.requests() == [{"put": "/body.bin", "file": "body.bin"}]


def test_losses_are_reported_with_their_lines(import_text: Importer) -> None:
    found = import_text("curl", "curl -kL http://a/ \\\n --compressed \\\n -b 'a=b' --unheard-of\n")
    assert found.noted("option -kL") == [1, 1]
    assert found.noted("option --compressed") == [2]
    assert found.noted("option -b") == [3]
    assert found.noted("option --unheard-of") == [3]


def test_the_example(import_file: Importer) -> None:
    found = import_file("curl", "commands.sh")
    assert [next(iter(step)) for step in found.requests()] == ["get", "post", "post", "post"]
    assert found.requests()[1]["json"] == {"item": 17, "note": "it's $${red}"}
    assert found.requests()[2]["form"] == {"name": "O'Neil", "color": "red"}
    assert found.noted("header Cookie") == [4]


def test_headers_that_are_empty_and_headers_that_are_taken_away(import_text: Importer) -> None:
    (step,) = import_text("curl", "curl -H 'X-Empty;' -H 'Accept:' http://a/\n").requests()
    assert step["headers"] == {"X-Empty": ""}
    (step,) = import_text("curl", "curl --json '{  }' -H 'Accept:' http://a/\n").requests()
    assert step == {"post": "/", "json": {}}


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("curl --range 600 http://a/", {"get": "/", "headers": {"Range": "bytes=600-"}}),
        ("curl http://ann:s%40@a/x", {"get": "/x", "auth": {"user": "ann", "password": "s@"}}),
        ("curl --url-query q=1 --url-query r http://a/x?p=2", {"get": "/x?p=2&q=1&r"}),
        ("curl -G -d q=1 'http://a/x?'", {"get": "/x", "query": {"q": "1"}}),
        ("curl -G -d q=1 'http://a/x?p=2&'", {"get": "/x", "query": {"p": "2", "q": "1"}}),
        ("curl --url-query '+q=%20' --url-query r=1 http://a/x", {"get": "/x", "query": {"q": " ", "r": "1"}}),
        ("curl -G --data-urlencode 'q=a b' http://a/x", {"get": "/x?q=a+b"}),
        ("curl --url-query q=1 'http://a/x?'", {"get": "/x", "query": {"q": "1"}}),
        ("curl http://a/x > out.txt 2>&1", {"get": "/x"}),
        ("curl http://a/x 2> /dev/null", {"get": "/x"}),
    ],
)
def test_what_the_lines_say(line: str, step: dict[str, Any], import_text: Importer) -> None:
    assert import_text("curl", line + "\n").requests() == [step]


def test_several_urls_and_next_are_several_requests(import_text: Importer) -> None:
    found = import_text("curl", "curl -A me http://a/1 http://a/2 --next -X DELETE http://a/3\n")
    assert found.requests() == [
        {"get": "/1", "headers": {"User-Agent": "me"}, "on_failure": "go_on"},
        {"get": "/2", "headers": {"User-Agent": "me"}, "on_failure": "go_on"},
        {"delete": "/3", "on_failure": "go_on"},
    ]


def test_parts_of_a_form_are_taken_apart_as_curl_does(import_text: Importer) -> None:
    line = """curl -F 'a=1;type=text/x' -F 'b="x;y";type=text/z' -F 'c=plain;else' --form-string 'd=1;2' http://a/"""
    assert import_text("curl", line + "\n").requests()[0]["multipart"] == {
        "a": {"value": "1", "content_type": "text/x"},
        "b": {"value": "x;y", "content_type": "text/z"},
        "c": "plain",
        "d": "1;2",
    }


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ('@"one;two"', {"filename": "one;two"}),
        ('@"one,two" ', {"filename": "one,two"}),
        (r'@"one\"\\two"', {"filename": r'one"\two'}),
        ('@"one', {"filename": '"one'}),
        ('@one;filename="x;y.txt"', {"filename": "x;y.txt"}),
        (
            "@one ; type=text/html;charset=utf-8; Filename=q",
            {"content_type": "text/html;charset=utf-8", "filename": "q"},
        ),
        ("@one;other=1;type=text/x", {"filename": "one", "content_type": "text/x"}),
        ("@one;type=text/x;filename=a;charset=b;type=text/y", {"filename": "a", "content_type": "text/y"}),
        ('1,2;filename="u;v"', {"value": "1,2", "filename": "u;v"}),
        (" 1 ;type=text/x", {"value": "1", "content_type": "text/x"}),
    ],
)
def test_quotes_and_settings_of_a_form_field_are_read_as_by_curl(
    value: str, part: dict[str, Any], import_text: Importer
) -> None:
    (step,) = import_text("curl", f"curl -F 'f={value}' http://a/\n").requests()
    assert {key: text for key, text in step["multipart"]["f"].items() if key != "generated"} == part


def test_several_files_of_a_form_field_are_several_parts(import_text: Importer) -> None:
    found = import_text("curl", "curl -F 'f=@one;type=text/x;filename=q, two' -F f=@three -F g=1,2 http://a/\n")
    generated = {"name": "f", "generated": {"size": "1 KiB"}}
    assert found.requests()[0]["multipart"][:3] == [
        {**generated, "filename": "q", "content_type": "text/x"},
        {**generated, "filename": "two"},
        {**generated, "filename": "three"},
    ]
    assert [what for _, what, why in found.notes() if "multipart/mixed" in why] == ["files of the field f"]


@pytest.mark.parametrize("value", ["@", "@,", "@one,", "@;", ";", "@one;type=", '@"', "@one;filename=;;,"])
def test_form_fields_that_curl_refuses_end_in_no_fault(value: str, import_text: Importer) -> None:
    assert "multipart" in import_text("curl", f"curl -F 'f={value}' http://a/\n").requests()[0]


def test_settings_of_a_form_field_without_a_counterpart_are_noted(import_text: Importer) -> None:
    found = import_text("curl", "curl -F 'f=1;headers=\"X-A: 1\";encoder=base64' http://a/\n")
    assert found.requests()[0]["multipart"] == {"f": "1"}
    assert found.noted("headers of the field f") == found.noted("encoder of the field f") == [1]


def test_lines_that_wait_without_end_are_noted(import_text: Importer) -> None:
    assert import_text("curl", "curl -m 3 http://a/1\ncurl http://a/2\n").noted("timeouts") == [1]
    assert import_text("curl", "curl -m 3 http://a/1\n").noted("timeouts") == []


def test_headers_that_a_line_sets_are_sent(import_text: Importer) -> None:
    found = import_text("curl", "curl -H 'Host: shop' -H 'Connection: close' -H 'Cookie: a=1' http://a/1\n")
    assert found.requests()[0]["headers"] == {"Host": "shop"}
    assert (found.noted("header Connection"), found.noted("header Cookie")) == ([1], [1])


def test_a_line_that_cannot_be_carried_leaves_the_others(import_text: Importer) -> None:
    found = import_text("curl", "curl http://a/1\ncurl ftp://a/2\ncurl -X PROPFIND http://a/3\ncurl http://a/4\n")
    assert [step["get"] for step in found.requests()] == ["/1", "/4"]
    assert found.noted("curl") == [2, 3]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("curl -U me:pw http://a/", "-U (--proxy-user)"),
        ("curl -d @- http://a/ < body.json", "redirection '< body.json'"),
        ("curl -d @- http://a/ <<< text", "redirection '<<< text'"),
        ("curl --what-is-this http://a/", "--what-is-this"),
    ],
)
def test_messages_name_what_is_not_carried(line: str, what: str, import_text: Importer) -> None:
    assert import_text("curl", line + "\n").noted(what) == [1]


def paths(found: Any) -> list[str]:
    return [step["get"] for step in found.requests()]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("'http://a/{one,two}/x'", ["/one/x", "/two/x"]),
        ("'http://a/[8-10]?q=1'", ["/8", "/9", "/10"]),
        ("'http://a/[08-10:2]'", ["/08", "/10"]),
        ("'http://a/[a-c]/{x}'", ["/a/x", "/b/x", "/c/x"]),
        (r"'http://a/\[x\]'", ["/[x]"]),
        ("-g 'http://a/{x,y}'", ["/{x,y}"]),
        ('"http://a/${name}/{x,y}"', ["/${parameters.name}/x", "/${parameters.name}/y"]),
        ("http://a/a/../b/./c/..", ["/b/"]),
        ("--path-as-is http://a/a/../b", ["/a/../b"]),
    ],
)
def test_urls_are_those_that_curl_makes(url: str, expected: list[str], import_text: Importer) -> None:
    assert paths(import_text("curl", f"curl {url}\n")) == expected


def test_ranges_above_the_bound_are_noted(import_text: Importer) -> None:
    found = import_text("curl", "curl 'http://a/[1-999999999]'\n")
    assert len(found.requests()) == 100
    assert found.noted("URL 'http://a/[1-999999999]'") == [1]


def test_what_is_done_only_after_a_failure_is_noted(import_text: Importer) -> None:
    found = import_text("curl", "curl http://a/1 && curl http://a/2 ||\n  curl http://a/3\ncurl http://a/4 | jq .a\n")
    assert paths(found) == ["/1", "/2", "/4"]
    assert found.noted("|| curl") == [2]
    assert found.noted("command 'jq .a'") == [3]


@pytest.mark.parametrize(("second", "said"), [("", [1]), ("--connect-timeout 2 ", []), ("--connect-timeout 1 ", [1])])
def test_a_time_for_connections_holds_for_all_lines(second: str, said: list[int], import_text: Importer) -> None:
    found = import_text("curl", f"curl --connect-timeout 2 http://a/1\ncurl {second}http://a/2\n")
    assert found.workload["defaults"]["connect_timeout"] == "2 s"
    assert found.noted("option --connect-timeout") == said


def test_names_that_no_file_can_have_are_files_that_do_not_exist(import_text: Importer) -> None:
    long = "9" * 300
    found = import_text("curl", f"curl -T {long} http://a/1\ncurl --data-binary @{long} http://a/2\n")
    assert found.noted(f"file {long[:80]}") == [1, 2]
    assert [step.get("body") for step in found.requests()] == ["${random.text(1024)}"] * 2


@pytest.mark.parametrize("token", ["--oauth2-bearer t", "-H 'Authorization: Bearer t'"])
def test_a_token_goes_over_other_logins(token: str, import_text: Importer) -> None:
    found = import_text("curl", f"curl -u ann:x {token} http://bob:y@a/1\n")
    assert found.requests() == [{"get": "/1", "headers": {"Authorization": "Bearer t"}}]


def test_fields_of_a_query_stand_before_the_fragment(import_text: Importer) -> None:
    found = import_text("curl", "curl -G -d q=1 --url-query r=2 'http://a/1?p=0#part'\n")
    assert found.requests() == [{"get": "/1", "query": {"p": "0", "q": "1", "r": "2"}}]


def test_a_range_of_a_body_is_noted(import_text: Importer) -> None:
    found = import_text("curl", "curl -r 0-9 -d a=1 http://a/1\n")
    assert found.requests() == [{"post": "/1", "form": {"a": "1"}}]
    assert found.noted("option -r (--range)") == [1]


def test_headers_that_curl_does_not_send(import_text: Importer) -> None:
    assert import_text("curl", "curl -A '' -e ';auto' http://a/\n").requests() == [{"get": "/"}]
    (step,) = import_text("curl", "curl -e 'http://b;auto' http://a/\n").requests()
    assert step["headers"] == {"Referer": "http://b"}


def test_json_with_a_key_twice_stays_as_it_is(import_text: Importer) -> None:
    (step,) = import_text("curl", """curl --json '{"n":1,"n":2}' http://a/\n""").requests()
    assert step["body"] == '{"n":1,"n":2}'


def test_of_several_data_none_is_a_file(import_text: Importer) -> None:
    found = import_text("curl", "curl http://a/1\ncurl -d a=b -d @x http://a/2\ncurl -G -d @x http://a/3\n")
    assert [step["get"] for step in found.requests()] == ["/1"]
    assert [line for line, _, why in found.notes() if "got several bodies with a file" in why] == [2, 3]
    assert import_text("curl", "curl -d a=b --data-raw @x http://a/2\n").requests()[0]["body"] == "a=b&@x"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("curl -f http://a/1 && curl http://a/2", [1]),
        ("curl http://a/1 &&\ncurl http://a/2", [2]),
        ("curl http://a/1; curl http://a/2", []),
        ("cd x && curl http://a/2", []),
        ("curl http://a/1 & curl http://a/2", []),
    ],
)
def test_what_is_done_only_after_a_good_request_is_noted(text: str, said: list[int], import_text: Importer) -> None:
    assert import_text("curl", f"{text}\n").noted("&&") == said


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create two files in the folder from which the command lines read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").write_text("a=1", "utf-8")
    (tmp_path / "many").write_text("a=1\nb=2\n", "utf-8")


@pytest.mark.parametrize(
    ("line", "media", "said"),
    [
        ("-d @many", "application/x-www-form-urlencoded", "line ends"),
        ("-d @one", "application/x-www-form-urlencoded", ""),
        ("--data-binary @many", "application/x-www-form-urlencoded", ""),
        ("--json @one", "application/json", ""),
        ("-d @one -H 'Content-Type: text/x'", "text/x", ""),
        ("-T one", None, "uploads without a media type"),
        ("-T one -H 'Content-Type: text/x'", "text/x", ""),
        ("-d a=b -H 'Content-Type:'", None, "sends the body without this header"),
        ("-F 'f=<one'", None, "as a field"),
        ("-F 'f=@one'", None, ""),
    ],
)
@pytest.mark.usefixtures("files")
def test_files_have_the_type_that_curl_gives_them(
    line: str, media: str | None, said: str, import_text: Importer
) -> None:
    found = import_text("curl", f"curl {line} http://a/x\n")
    assert found.requests()[0].get("headers", {}).get("Content-Type") == media
    notes = [why for _, what, why in found.notes() if what not in {"timeouts", "think time"}]
    assert [said in why for why in notes] == ([True] if said else [])


def test_words_behind_two_dashes_are_no_options(import_text: Importer) -> None:
    found = import_text("curl", "curl -s -X PUT -- http://a/1 -x > out.txt\n")
    assert [step["put"] for step in found.requests()] == ["/1", "/"]
    assert not found.noted("option")


def test_variables_that_the_file_sets_are_put_in(import_text: Importer) -> None:
    lines = [
        "export BASE=http://a:1/base",
        "BODY='{\"n\": 1}' KIND=application/json",
        'curl -H "Content-Type: $KIND" -d "$BODY" $BASE/1',
        "BASE=$BASE/v2",
        "curl ${BASE}/2",
        "BASE=$(cat file)",
        'curl "$BASE/3?k=$KEY"',
        "BASE=`pwd`",
    ]
    found = import_text("curl", "\n".join(lines) + "\n")
    first, second, third = found.requests()
    assert (first["post"], first["json"], second["get"]) == ("/base/1", {"n": 1}, "/base/v2/2")
    assert (third["get"], third["query"]) == ("/3", {"k": "${parameters.key}"})
    assert found.draft.parameters == {"key": "change-me"}
    assert [(line, why) for line, what, why in found.notes() if what == "variable $BASE"] == [
        (7, "its value is unknown: only the path of the URL is kept, set the address with --address"),
        (8, "is set to a value that is not known before the run"),
    ]


def _value(name: str) -> str:
    values = {
        "request": "PUT",
        "url": "http://a/other",
        "max-time": "3",
        "connect-timeout": "3",
        "form": "k=v",
        "form-string": "k=v",
    }
    return values.get(name, "Name: v" if name == "header" else "7")


@pytest.mark.parametrize("name", sorted(KEYS))
def test_every_option_is_accounted_for(name: str, import_notes: Importer) -> None:
    """Each option that curl's help lists changes the workload, causes a note, or is harmless."""
    bare = name.removeprefix("--")
    entry = OPTIONS[bare]
    if entry.fate is Fate.HARMLESS:
        assert entry.why
        return
    value = f"'{_value(bare)}'" if KEYS[name]["value"] else ""
    for option in filter(None, (name, KEYS[name]["short"])):
        body = "" if bare == "range" else "-d x=1"
        url = {"globoff": "http://a/{x,y}", "path-as-is": "http://a/../x"}.get(bare, "http://a/x")
        base = import_notes("curl", f"curl {body} {url}\n")
        more = "http://a/y" if bare == "next" else ""
        found = import_notes("curl", f"curl {body} {url} {option} {value} {more}\n")
        named = [what for _, what, _ in found.notes() if option in what]
        assert bool(named) == (entry.fate is Fate.NOTED)
        assert named or found.text != base.text
