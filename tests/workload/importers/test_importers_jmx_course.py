"""Test plans of JMeter: course after a failure, logins, cookies, pauses, encodings, pacing, and every property."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jmeter_plans import arguments, element, group, plan, post, request, sampler

from towtank.errors import StudyError
from towtank.workload.importers.accounting import Fate
from towtank.workload.importers.jmx_table import COMMON, ELEMENTS

Importer = Callable[..., Any]
KEYS = json.loads((Path(__file__).parents[2] / "data/imports/keys/jmeter.json").read_text("utf-8"))["elements"]


@pytest.mark.parametrize(
    ("action", "course", "said"),
    [
        (None, "go_on", False),
        ("continue", "go_on", False),
        ("startnextloop", None, False),
        ("stopthread", None, True),
        ("stoptest", None, True),
    ],
)
def test_a_failed_sample_does_what_its_group_says(
    action: str | None, course: str | None, said: bool, import_text: Importer
) -> None:
    properties = {} if action is None else {"on_sample_error": action}
    found = import_text("jmx", group(request("/x") + request("/y"), **properties))
    assert [step.get("on_failure") for step in found.requests()] == [course, course]
    assert bool(found.noted("on_sample_error")) == said


def login(url: str, user: str) -> str:
    inner = "".join(
        f'<stringProp name="Authorization.{name}">{text}</stringProp>'
        for name, text in {"url": url, "username": user, "password": "p", "mechanism": "BASIC"}.items()
    )
    return f'<elementProp name="" elementType="Authorization">{inner}</elementProp>'


def logins(entries: str) -> str:
    collection = f'<collectionProp name="AuthManager.auth_list">{entries}</collectionProp>'
    return f'<AuthManager testname="A">{collection}</AuthManager><hashTree/>'


def test_a_login_goes_only_where_its_url_says(import_text: Importer) -> None:
    manager = logins(login("http://a/secret", "s") + login("http://b:81", "b"))
    below = request("/secret/1") + request("/index") + request("/secret", host="b") + request("/c", host="b", port="81")
    found = import_text("jmx", group(manager + below))
    assert [step.get("auth", {}).get("user") for step in found.requests()] == ["s", None, None, "b"]


def test_a_login_without_a_url_goes_everywhere_as_in_jmeter(import_text: Importer) -> None:
    manager = logins(login("", "u"))
    assert import_text("jmx", group(manager + request("/x"))).requests()[0]["auth"]["user"] == "u"


def test_think_time_is_a_flow_control_with_a_timer_below(import_text: Importer) -> None:
    timer = element("UniformRandomTimer", ConstantTimer__delay="1000", RandomTimer__range="100")
    outer = element("ConstantTimer", ConstantTimer__delay="20")
    action = element("TestAction", timer, ActionProcessor__action="1", ActionProcessor__duration="0")
    found = import_text("jmx", group(outer + action + request("/x")))
    steps = found.workload["transactions"]["g"]
    assert steps[:2] == [{"think": "20 ms"}, {"think": {"uniform": {"min": "1 s", "max": "1.1 s"}}}]
    assert [next(iter(step)) for step in steps] == ["think", "think", "think", "get"]


def test_a_flow_control_that_stops_is_noted(import_text: Importer) -> None:
    found = import_text("jmx", group(element("TestAction", ActionProcessor__target="0") + request("/x")))
    assert [why for _, what, why in found.notes() if "TestAction" in what] == [
        "stops the thread or the test: a user cannot be told to, and goes on with the next step"
    ]


def test_cookies_of_a_manager_are_sent_and_its_clearing_is_noted(import_text: Importer) -> None:
    inner = "".join(
        f'<stringProp name="Cookie.{name}">{text}</stringProp>'
        for name, text in {"value": "v1", "domain": "a", "path": "/p"}.items()
    )
    manager = (
        '<CookieManager testname="C"><boolProp name="CookieManager.clearEachIteration">true</boolProp>'
        '<collectionProp name="CookieManager.cookies">'
        f'<elementProp name="own" elementType="Cookie">{inner}</elementProp>'
        "</collectionProp></CookieManager><hashTree/>"
    )
    found = import_text("jmx", group(manager + request("/p/1") + request("/q") + request("/p", host="b")))
    assert [step.get("headers", {}).get("Cookie") for step in found.requests()] == ["own=v1", None, None]
    assert [why for _, what, why in found.notes() if what == "CookieManager 'C'"] == [
        "clears cookies before each iteration; here a user keeps the cookies of the server to its end"
    ]


def test_a_plan_without_a_cookie_manager_keeps_no_cookies(import_text: Importer) -> None:
    found = import_text("jmx", group(request("/x")))
    assert [why for _, what, why in found.notes() if what == "cookies"] == [
        "the plan has no cookie manager: JMeter keeps no cookies, users here keep those of the server"
    ]


def test_values_that_are_encoded_already_are_not_encoded_twice(import_text: Importer) -> None:
    given = arguments(("a", "1234+Test%26+St.", "false"), ("b", "1+2 %26", "true"))
    found = import_text("jmx", group(post("/f", given) + post("/g", given, "GET") + post("/d", given, "DELETE")))
    wanted = {"a": "1234 Test& St.", "b": "1+2 %26"}
    first, second, third = found.requests()
    assert (first["form"], second["query"]) == (wanted, wanted)
    # JMeter sends arguments of DELETE twice: in the query and in the body.
    assert (third["query"], third["form"]) == (wanted, wanted)


def test_head_has_no_arguments_and_get_no_file(import_text: Importer) -> None:
    file = (
        '<elementProp name="HTTPsampler.Files" elementType="HTTPFileArgs"><collectionProp name="HTTPFileArgs.files">'
        '<elementProp name="" elementType="HTTPFileArg"><stringProp name="File.path">x.bin</stringProp></elementProp>'
        "</collectionProp></elementProp>"
    )
    given = arguments(("a", "1", "true"))
    head, get = import_text("jmx", group(post("/h", given, "HEAD") + post("/g", file, "GET"))).requests()
    assert "query" not in head
    assert not {"multipart", "form", "body"} & set(get)
    found = import_text("jmx", group(post("/h", given, "HEAD") + post("/g", file, "GET")))
    assert found.noted("'x.bin'")
    assert found.noted("'/h'")


def test_a_throughput_timer_paces_its_group(import_text: Importer) -> None:
    alone = element("ConstantThroughputTimer", throughput="60", calcMode="0")
    found = import_text("jmx", group(alone + request("/x") + request("/y")))
    assert found.workload["groups"]["g"]["loop"] == {"pacing": "2 s", "mix": {"g": 100}}
    together = element("ConstantThroughputTimer", throughput="60", calcMode="2")
    found = import_text("jmx", group(together + request("/x")))
    assert found.workload["groups"]["g"]["loop"]["pacing"] == "4 s"
    assert found.noted("ConstantThroughputTimer")


def test_connections_are_as_the_samplers_say(import_text: Importer) -> None:
    closing = request("/x", use_keepalive="false", connect_timeout="1500")
    found = import_text("jmx", group(closing))
    assert found.workload["defaults"]["connections"] == "new_each_time"
    assert found.workload["defaults"]["connect_timeout"] == "1.5 s"
    found = import_text("jmx", group(closing + request("/y")))
    assert "connections" not in found.workload["defaults"]
    assert found.noted("use_keepalive")
    assert found.noted("connect_timeout")


@pytest.mark.parametrize(
    ("name", "value"),
    [("proxyHost", "p"), ("ipSource", "127.0.0.2"), ("md5", "true"), ("contentEncoding", "latin-1")],
)
def test_settings_of_a_sampler_without_counterpart_are_noted(name: str, value: str, import_text: Importer) -> None:
    assert import_text("jmx", group(request("/x", **{name: value}))).noted(f"HTTPSampler.{name}")


@pytest.mark.parametrize(("name", "value"), [("delay", "5"), ("same_user_on_next_iteration", "false")])
def test_settings_of_a_group_without_counterpart_are_noted(name: str, value: str, import_text: Importer) -> None:
    assert import_text("jmx", group(request("/x"), **{name: value})).noted(f"ThreadGroup.{name}")


def test_variables_that_are_switched_off_are_not_set(import_text: Importer) -> None:
    off = (
        '<Arguments testname="U" enabled="false"><collectionProp name="Arguments.arguments"><elementProp name="v" '
        'elementType="Argument"><stringProp name="Argument.name">v</stringProp><stringProp name="Argument.value">1'
        "</stringProp></elementProp></collectionProp></Arguments><hashTree/>"
    )
    found = import_text("jmx", group(off + request("/x?${v}")))
    assert "parameters" not in found.workload
    assert found.noted("${v}")


def test_a_counter_is_the_number_of_the_transaction(import_text: Importer) -> None:
    counter = element("CounterConfig", CounterConfig__name="n", CounterConfig__start="1", CounterConfig__incr="1")
    found = import_text("jmx", group(counter + request("/x/${n}")))
    assert found.requests()[0]["get"] == "/x/${iteration}"
    assert found.noted("CounterConfig")


def test_no_default_leaves_the_variable_and_fails_nothing(import_text: Importer) -> None:
    regex = element("RegexExtractor", RegexExtractor__refname="t", RegexExtractor__regex="a(b)")
    found = import_text("jmx", group(request("/x", regex)))
    assert found.requests()[0]["extract"] == {"t": {"regex": "a(b)", "required": False}}
    empty = element(
        "RegexExtractor",
        RegexExtractor__refname="t",
        RegexExtractor__regex="a(b)",
        RegexExtractor__default_empty_value="true",
    )
    found = import_text("jmx", group(request("/x", empty)))
    assert found.requests()[0]["extract"] == {"t": {"regex": "a(b)", "default": ""}}


# A plan in which each element has what makes it do something, and a place where a property can be put in.
_QUOTED = Path(__file__).parents[2] / "data" / "imports" / "quoted.csv"
_REQUEST = {"HTTPSampler.domain": "a", "HTTPSampler.method": "POST"}
_SCOPED = {
    "HTTPSamplerProxy": _REQUEST,
    "HTTPSampler": _REQUEST,
    "HTTPSampler2": _REQUEST,
    "CSVDataSet": {"filename": str(_QUOTED), "variableNames": "a;b", "delimiter": ";", "recycle": "false"},
    "IfController": {"IfController.condition": "x"},
    "RandomController": {},
    "RegexExtractor": {"RegexExtractor.refname": "t", "RegexExtractor.regex": "a(b)"},
    "BoundaryExtractor": {"BoundaryExtractor.refname": "t", "BoundaryExtractor.lboundary": "a"},
    "JSONPostProcessor": {"JSONPostProcessor.referenceNames": "t", "JSONPostProcessor.jsonPathExprs": "$.a"},
    "ResponseAssertion": {"Assertion.test_field": "Assertion.response_data"},
    "JSONPathAssertion": {
        "JSON_PATH": "$.a",
        "JSONVALIDATION": "true",
        "EXPECTED_VALUE": "a+",
        "ISREGEX": "false",
    },
    "TestAction": {"ActionProcessor.action": "1"},
    "ThroughputController": {"ThroughputController.style": "1"},
    "DurationAssertion": {"DurationAssertion.duration": "5"},
    "ConstantThroughputTimer": {"throughput": "60"},
    "PreciseThroughputTimer": {"throughput": "60"},
}
_ELEMENTS = sorted(
    kind
    for kind in ELEMENTS
    if kind not in {"HTTPArgument", "Argument", "Header", "Authorization", "Cookie", "HTTPFileArg", "HTTPFileArgs"}
    and kind not in {"Arguments", "OpenModelThreadGroup"}
)
# They hold elements, not texts: tests above cover them.
_STRUCTURED = frozenset({"HTTPsampler.Arguments", "HTTPsampler.Files", "ThreadGroup.main_controller"}) | {
    "AuthManager.auth_list",
    "CookieManager.cookies",
    "HeaderManager.headers",
    "Asserion.test_strings",
    "TestPlan.user_defined_variables",
}
_VALUES = ("true", "false", "17", "zz", "-3", "$2$")


def _plan_with(kind: str, name: str = "", value: str = "") -> str:
    """A plan with an element of a kind, and one more property in it."""
    own = {key: text for key, text in _SCOPED.get(kind, {}).items() if key != name}
    inner = "".join(f'<stringProp name="{key}">{text}</stringProp>' for key, text in own.items())
    inner += arguments(("a", "1", "true"), ("b", "2", "true")) if kind.startswith("HTTPSampler") else ""
    more = f'<stringProp name="{name}">{value}</stringProp>' if name else ""
    timer = element("ConstantTimer", ConstantTimer__delay="20")
    below = "" if kind.startswith("HTTPSampler") else request("/below") + request("/later", timer)
    inside = below if "Controller" in kind or kind in {"RunTime", "InterleaveControl"} else ""
    gui = ' guiclass="HttpDefaultsGui"' if kind == "ConfigTestElement" else ""
    text = f'<{kind} testname="E"{gui}>{inner}{more}</{kind}><hashTree>{inside}</hashTree>'
    if kind == "ThreadGroup":
        whole = group(request("/x")).replace("</ThreadGroup>", f"{more}</ThreadGroup>")
        users = '<stringProp name="ThreadGroup.num_threads">4</stringProp>'
        needs = {
            "ThreadGroup.scheduler": '<stringProp name="ThreadGroup.duration">60</stringProp>',
            "ThreadGroup.duration": '<stringProp name="ThreadGroup.scheduler">true</stringProp>',
        }.get(name, "")
        whole = whole.replace("</ThreadGroup>", f"{needs}</ThreadGroup>")
        return whole.replace(users, "") if name == "ThreadGroup.num_threads" else whole
    if kind == "TestPlan":
        return group(request("/x")).replace('<TestPlan testname="P"/>', f'<TestPlan testname="P">{more}</TestPlan>')
    return plan(text + sampler("/x"))


@pytest.mark.parametrize("kind", _ELEMENTS)
def test_every_property_of_an_element_is_accounted_for(kind: str, import_notes: Importer) -> None:
    """A property of JMeter's own list changes the workload, or is named by a note, unless nature makes it harmless."""
    base = import_notes("jmx", _plan_with(kind))
    notes = set(base.notes())
    silent = []
    for name in sorted(set(KEYS[kind]) - _STRUCTURED):
        entry = {**COMMON, **ELEMENTS[kind]}.get(name)
        if entry is not None and entry.fate is Fate.HARMLESS:
            assert entry.why
            continue
        changed = False
        for value in _VALUES:
            try:
                found = import_notes("jmx", _plan_with(kind, name, value))
            except StudyError:
                changed = True
                continue
            differs = found.text != base.text or found.draft.findings != base.draft.findings
            named = set(found.notes()) != notes
            changed = changed or differs or named
            if entry is not None and entry.fate is Fate.NOTED and value not in entry.default:
                assert any(name in what for _, what, _ in found.notes()), (name, value)
        silent += [] if changed else [name]
    assert silent == []


def test_a_property_that_nobody_knows_is_noted(import_text: Importer) -> None:
    found = import_text("jmx", group(request("/x", new_setting="on")))
    assert [(what, why) for _, what, why in found.notes() if "new_setting" in what] == [
        ("HTTPSamplerProxy: HTTPSampler.new_setting = 'on'", "was not carried: this key is not known to the importer")
    ]


def test_arguments_of_defaults_are_noted_and_empty_ones_are_not(import_text: Importer) -> None:
    def defaults(inside: str) -> str:
        properties = '<stringProp name="HTTPSampler.domain">a</stringProp>' + inside
        return (
            f'<ConfigTestElement guiclass="HttpDefaultsGui" testname="D">{properties}</ConfigTestElement><hashTree/>'
            + request("/x")
        )

    found = import_text("jmx", group(defaults(arguments(("lang", "en", "true")))))
    assert found.noted("ConfigTestElement: HTTPsampler.Arguments")
    found = import_text("jmx", group(defaults(arguments())))
    assert not found.noted("ConfigTestElement")
