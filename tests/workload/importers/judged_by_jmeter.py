"""JMeter runs test plans, and Towtank runs them after their import. Both must send the same requests to a server.

Not part of the ordinary tests: `make judge` gets JMeter from Maven and runs this file.
"""

from __future__ import annotations

import os
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from jmeter_generated import cookie_manager, generated, header_manager, login_manager
from jmeter_plans import arguments, assertion, element, group, post, request, whole
from judges import Log, driven, logging_server

JMETER = Path(os.environ.get("TOWTANK_JMETER", ".venv/jmeter")).resolve()
LOOPS = 2


def run(text: str, log: Log, folder: Path, duration: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the requests that JMeter sends, and the same number of requests that Towtank sends."""
    file = folder / "plan.jmx"
    host, port = log.address.split(":")
    (folder / "h.csv").write_text("user,pw\nann,1\nbob,2\ncy,3\ndi,4\n", encoding="utf-8")
    (folder / "s.csv").write_text("1;2\n3;4\n5;6\n7;8\n", encoding="utf-8")
    text = whole(text, LOOPS).replace("HOST", host).replace("PORT", port).replace("FOLDER", str(folder))
    file.write_text(text, encoding="utf-8")
    java = ["java", "-Xmx256m", f"-Djmeter.home={JMETER}", "-cp", f"{JMETER}/libraries/*"]
    words = ["-n", "-t", str(file), "-l", str(folder / "out.jtl"), "-j", str(folder / "jmeter.log")]
    subprocess.run([*java, "org.apache.jmeter.NewDriver", *words], check=True, capture_output=True, cwd=folder)
    wanted = log.taken()
    return wanted, driven("jmx", file, log, duration)[: len(wanted)]


def at(path: str, below: str = "", **properties: str) -> str:
    return request(path, below, host="HOST", port="PORT", method="GET", **properties)


def sent(path: str, inside: str, method: str) -> str:
    return (
        post(path, inside, method)
        .replace(">a</stringProp>", ">HOST</stringProp>", 1)
        .replace("</HTTPSamplerProxy>", '<stringProp name="HTTPSampler.port">PORT</stringProp></HTTPSamplerProxy>')
    )


def variables(value: str) -> str:
    inner = '<stringProp name="Argument.name">v</stringProp><stringProp name="Argument.metadata">=</stringProp>'
    inner += f'<stringProp name="Argument.value">{value}</stringProp>'
    entry = f'<elementProp name="v" elementType="Argument">{inner}</elementProp>'
    collection = f'<collectionProp name="Arguments.arguments">{entry}</collectionProp>'
    return f'<Arguments testname="U">{collection}</Arguments><hashTree/>'


def data_set(file: str) -> str:
    """Return the element for a data set whose file has the column names in its first line."""
    inner = f'<stringProp name="filename">{file}</stringProp><stringProp name="delimiter">,</stringProp>'
    inner += '<boolProp name="recycle">true</boolProp><stringProp name="shareMode">shareMode.all</stringProp>'
    head = '<CSVDataSet guiclass="TestBeanGUI" testclass="CSVDataSet" testname="rows">'
    return f"{head}{inner}</CSVDataSet><hashTree/>"


def defaults(path: str) -> str:
    inner = f'<stringProp name="HTTPSampler.path">{path}</stringProp>'
    return f'<ConfigTestElement guiclass="HttpDefaultsGui" testname="D">{inner}</ConfigTestElement><hashTree/>'


_ENCODED = arguments(("a", "1234+Test%26+x", "false"), ("b", "1+2 %26", "true"))
_BAD = element("JSONPathAssertion", JSON_PATH="$.none")
PLANS = {
    "goes on after a failure": group(at("/1") + at("/bad") + at("/3", _BAD) + at("/4")),
    "next loop after a failure": group(at("/1") + at("/bad") + at("/3"), on_sample_error="startnextloop"),
    "login by address": group(
        login_manager("http://HOST:PORT/secret") + at("/secret/1") + at("/index") + at("/secret")
    ),
    "login without address": group(login_manager("") + at("/x")),
    "encoded values": group(sent("/post", _ENCODED, "POST") + sent("/get", _ENCODED, "GET")),
    "arguments by method": group(sent("/put", _ENCODED, "PUT") + sent("/head", _ENCODED, "HEAD")),
    "logins in two places": group(
        login_manager("") + element("GenericController", login_manager("", "inner") + at("/x")) + at("/y")
    ),
    "no cookie manager": group(at("/x") + at("/y")),
    "kept cookies": group(cookie_manager({}) + at("/x") + at("/y")),
    "own cookies": group(cookie_manager({"own": "/", "deep": "/a"}) + at("/x") + at("/a/b")),
    "own cookies that the server replaces": group(cookie_manager({"own": "/"}) + at("/set/own") + at("/y")),
    "own cookies that the server deletes": group(cookie_manager({"own": "/"}) + at("/drop/own") + at("/y")),
    "own cookies of another path": group(cookie_manager({"own": "/y"}) + at("/set/own") + at("/y")),
    "cookies cleared": group(
        cookie_manager({"own": "/"}, clearEachIteration="true") + at("/set/own") + at("/drop/x") + at("/y")
    ),
    "cookies as the group says": group(
        cookie_manager({}, controlledByThreadGroup="true") + at("/x") + at("/y"), same_user_on_next_iteration="false"
    ),
    "cookies of one login": group(
        cookie_manager({}, clearEachIteration="true")
        + element("OnceOnlyController", at("/set/login"))
        + at("/x")
        + at("/y")
    ),
    "header Cookie": group(header_manager([("Cookie", "by=hand")]) + at("/x") + at("/y")),
    "header Cookie and own cookies": group(
        cookie_manager({"own": "/"}) + header_manager([("Cookie", "by=hand")]) + at("/x") + at("/y")
    ),
    "cookie managers in two places": group(
        cookie_manager({"outer": "/"})
        + element("GenericController", cookie_manager({"inner": "/"}, clearEachIteration="true") + at("/x"))
        + at("/y")
    ),
    "defaults in two places": group(
        defaults("/first")
        + defaults("/second")
        + at("")
        + element("GenericController", defaults("/inner") + at("") + at("/own"))
    ),
    "several slashes": group(at("/a//b/") + at("/a/?u=//c") + at("//d")),
    "a slash in a variable": group(variables("/base") + at("${v}/x") + at("${v}") + at("y/${v}")),
    "no slash in a variable": group(variables("base") + at("${v}/x") + at("/${v}")),
    "an address in a variable": group(variables("http://HOST:PORT/base") + at("${v}/x?y=1")),
    "an empty variable": group(variables("") + at("${v}/x") + at("${v}y")),
    "slashes at the end of a variable": group(variables("/base/") + at("${v}/x")),
    "headers in two places": group(
        header_manager([("X-A", "outer"), ("X-B", "outer")])
        + element("GenericController", header_manager([("X-A", "inner")]) + at("/x", header_manager([("X-B", "own")])))
        + at("/y")
    ),
    "arguments of other methods": group(sent("/delete", _ENCODED, "DELETE") + sent("/patch", _ENCODED, "PATCH")),
    "extracted value": group(
        at(
            "/token",
            element(
                "JSONPostProcessor",
                **{
                    "JSONPostProcessor__referenceNames": "t",
                    "JSONPostProcessor__jsonPathExprs": "$.token",
                },
            ),
        )
        + at("/use/${t}")
    ),
    "controllers": group(element("LoopController", at("/in"), LoopController__loops="3") + at("/out")),
    "variables of one name": group(
        variables("1") + at("/x/${v}") + element("GenericController", variables("3") + at("/y/${v}"))
    ),
    "rows of a data set": group(data_set("FOLDER/h.csv") + at("/x/${user}/${pw}")),
    "rows of a login that is done once": group(
        data_set("FOLDER/h.csv") + element("OnceOnlyController", at("/login/${user}")) + at("/x/${user}")
    ),
    "rows inside a loop": group(
        element("LoopController", data_set("FOLDER/h.csv") + at("/x/${user}"), LoopController__loops="2")
    ),
    "a value of a header": group(
        at(
            "/token",
            element(
                "RegexExtractor",
                RegexExtractor__refname="t",
                RegexExtractor__regex="X-Id: (.+)",
                RegexExtractor__useHeaders="true",
                RegexExtractor__template="$1$",
                RegexExtractor__match_number="1",
                RegexExtractor__default="none",
            ),
        )
        + at("/use/${t}")
    ),
    "defaults of properties": group(at("/x/${__P(some,dv)}/${__property(other,,od)}/${__P(none)}")),
    "a counter of each user": group(
        element(
            "CounterConfig",
            CounterConfig__name="c",
            CounterConfig__start="1",
            CounterConfig__incr="1",
            CounterConfig__per_user="true",
        )
        + at("/x/${c}")
    ),
    "a loop that a failure ends": group(
        element("LoopController", at("/a") + at("/bad") + at("/b"), LoopController__loops="2") + at("/c"),
        on_sample_error="startnextloop",
    ),
    "an assertion about the whole body": group(
        at("/1", assertion("response_data", 1, "abc")) + at("/2"), on_sample_error="startnextloop"
    ),
    "an assertion that one text is not there": group(
        at("/1", assertion("response_data", 52, "abc", "zzz")) + at("/2"), on_sample_error="startnextloop"
    ),
    "an assertion that one text is there": group(
        at("/1", assertion("response_data", 48, "abc", "zzz")) + at("/2"), on_sample_error="startnextloop"
    ),
    "a status that fails in any case": group(
        at("/bad", assertion("response_code", 8, "404")) + at("/2"), on_sample_error="startnextloop"
    ),
    "a fragment": group(at("/a#part") + at("/b?x=1#part")),
    "blanks in a variable of a path": group(variables("a b&amp;c") + at("/x?v=${v}")),
    "headers of one name": group(header_manager([("X-A", "1"), ("x-a", "2")]) + at("/x")),
    "the type of a form by a header": group(
        header_manager([("Content-Type", "application/json")])
        + sent("/p", arguments(("a", "1", "true"), ("b", "2", "true")), "POST")
        + sent("/u", arguments(("a", "1", "true")), "PUT")
    ),
    "rows divided by semicolons": group(
        data_set("FOLDER/s.csv")
        .replace('delimiter">,', 'delimiter">;')
        .replace(
            '<boolProp name="recycle', '<stringProp name="variableNames">a,b</stringProp><boolProp name="recycle', 1
        )
        + at("/x/${a}/${b}")
    ),
    "once only": group(element("OnceOnlyController", at("/once")) + at("/each")),
}
# Number of generated plans; nightly runs use more. Each takes ten seconds.
GENERATED = int(os.environ.get("TOWTANK_PLANS", "20"))


def compared(text: str, folder: Path) -> None:
    with logging_server({"/bad": 404}) as log:
        wanted, found = run(text, log, folder, "1s")
    assert wanted
    assert found == wanted


@pytest.mark.parametrize("name", PLANS)
def test_an_import_asks_for_what_jmeter_asks_for(name: str, tmp_path: Path) -> None:
    compared(PLANS[name], tmp_path)


@pytest.mark.parametrize("seed", range(GENERATED))
def test_a_generated_plan_asks_for_what_jmeter_asks_for(seed: int, tmp_path: Path) -> None:
    compared(generated(seed), tmp_path)


def test_pauses_are_those_of_jmeter(tmp_path: Path) -> None:
    """The plan has a flow control action with a timer below it. Towtank must send the same requests as JMeter, and no
    pause of Towtank may be shorter than the pause of the timer.
    """
    timer = element("ConstantTimer", ConstantTimer__delay="600")
    action = element("TestAction", timer, ActionProcessor__action="1", ActionProcessor__duration="0")
    with logging_server() as log:
        wanted, found = run(group(at("/1") + action + at("/2")), log, tmp_path, "4s")
        times = log.times
    assert [each["path"] for each in found] == [each["path"] for each in wanted]
    for first, second in pairwise(times[: len(wanted)]):
        if urlsplit(second[1]).path == "/2":
            assert second[0] - first[0] >= 0.59
