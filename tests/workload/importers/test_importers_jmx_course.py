from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jmeter_generated import header_manager as manager_of
from jmeter_plans import arguments, assertion, element, group, plan, post, request, sampler

from towtank.errors import StudyError
from towtank.workload.importers.accounting import Fate
from towtank.workload.importers.jmx.table import COMMON, ELEMENTS

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
        "stops the thread or the test: a workload cannot do this, and the user continues with the next step"
    ]


def variables(**values: str) -> str:
    inner = "".join(
        f'<elementProp name="{name}" elementType="Argument"><stringProp name="Argument.name">{name}</stringProp>'
        f'<stringProp name="Argument.value">{value}</stringProp></elementProp>'
        for name, value in values.items()
    )
    collection = f'<collectionProp name="Arguments.arguments">{inner}</collectionProp>'
    return f'<Arguments testname="U">{collection}</Arguments><hashTree/>'


def test_of_variables_of_one_name_the_last_one_counts(import_text: Importer) -> None:
    inner = element("GenericController", variables(v="3") + request("/y/${v}"))
    found = import_text("jmx", group(variables(v="1", w="2") + request("/x/${v}/${w}") + inner))
    assert found.workload["parameters"] == {"v": "3", "w": "2"}
    assert [step["get"] for step in found.requests()] == ["/x/${parameters.v}/${parameters.w}", "/y/${parameters.v}"]


def data_set(file: str, names: str) -> str:
    return element("CSVDataSet", filename=file, variableNames=names)


def test_what_is_done_once_and_the_first_round_have_the_same_row(import_text: Importer, tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text("ann\nbob\n", encoding="utf-8")
    once = element("OnceOnlyController", request("/login/${u}"))
    found = import_text("jmx", group(data_set("u.csv", "u") + once + request("/x/${u}")))
    steps = found.workload["transactions"]
    assert [next(iter(step)) for step in steps["g_once"]] == ["draw", "get"]
    assert [next(iter(step)) for step in steps["g"]] == ["get", "draw"]
    assert not found.noted("rows of 'G'")
    found = import_text(
        "jmx", group(data_set("u.csv", "u") + once + request("/x/${u}"), on_sample_error="startnextloop")
    )
    assert found.noted("rows of 'G'")
    found = import_text("jmx", group(data_set("u.csv", "u") + once + request("/x")))
    assert [next(iter(step)) for step in found.workload["transactions"]["g"]] == ["get"]


def test_a_data_set_inside_a_loop_deals_a_row_for_each_round_of_it(import_text: Importer, tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text("ann\nbob\n", encoding="utf-8")
    loop = element("LoopController", data_set("u.csv", "u") + request("/x/${u}"), LoopController__loops="2")
    found = import_text("jmx", group(loop + request("/y")))
    first, second = found.workload["transactions"]["g"]
    assert [next(iter(step)) for step in first["steps"]] == ["draw", "get"]
    assert second["get"] == "/y"


def cookie(name: str, **properties: str) -> str:
    given = {"value": "v1", "domain": "a", "path": "/", **properties}
    inner = "".join(f'<stringProp name="Cookie.{key}">{text}</stringProp>' for key, text in given.items())
    return f'<elementProp name="{name}" elementType="Cookie">{inner}</elementProp>'


def cookie_manager(entries: str = "", **properties: str) -> str:
    inner = "".join(f'<boolProp name="CookieManager.{key}">{text}</boolProp>' for key, text in properties.items())
    collection = f'<collectionProp name="CookieManager.cookies">{entries}</collectionProp>'
    return f'<CookieManager testname="C">{inner}{collection}</CookieManager><hashTree/>'


def of_group(found: Any) -> dict[str, Any]:
    """Return the cookie setting of the only user group."""
    (group_,) = found.workload["groups"].values()
    return dict(group_.get("cookies", {}))


def test_cookies_of_a_manager_are_those_of_its_users(import_text: Importer) -> None:
    manager = cookie_manager(cookie("own", path="/p") + cookie("none", domain="c"))
    found = import_text("jmx", group(manager + request("/p/1") + request("/q") + request("/p", host="b")))
    assert of_group(found) == {"given": [{"name": "own", "value": "v1", "path": "/p", "target": "a"}]}
    assert [step.get("headers") for step in found.requests()] == [None, None, None]
    assert [why for _, what, why in found.notes() if "cookie" in what.lower()] == [
        "is not sent, because no request goes to its domain"
    ]


def test_a_cookie_of_a_domain_goes_below_it_where_its_flag_says_so(import_text: Importer) -> None:
    manager = cookie_manager(cookie("wide", domain=".b", domain_specified="true") + cookie("here", domain="b"))
    found = import_text("jmx", group(manager + request("/x", host="b") + request("/y", host="c.b")))
    given = [(each["name"], each["target"]) for each in of_group(found)["given"]]
    assert given == [("wide", "b"), ("here", "b"), ("wide", "c_b")]


def test_a_cookie_whose_value_varies_is_a_header(import_text: Importer) -> None:
    regex = element("RegexExtractor", RegexExtractor__refname="t", RegexExtractor__regex="a(b)")
    below = cookie_manager(cookie("own", value="${t}")) + request("/x", regex)
    found = import_text("jmx", group(below))
    assert found.requests()[0]["headers"] == {"Cookie": "own=${t}"}
    assert of_group(found) == {}
    assert found.noted("cookie 'own'")


@pytest.mark.parametrize(
    ("clears", "by_group", "same_user", "kept"),
    [
        ("false", "false", None, None),
        ("true", "false", None, "per_round"),
        ("true", "false", "false", "per_round"),
        ("true", "true", None, None),
        ("true", "true", "true", None),
        ("false", "true", "false", "per_round"),
    ],
)
def test_cookies_are_kept_as_long_as_in_jmeter(
    clears: str, by_group: str, same_user: str | None, kept: str | None, import_text: Importer
) -> None:
    manager = cookie_manager(clearEachIteration=clears, controlledByThreadGroup=by_group)
    properties = {} if same_user is None else {"same_user_on_next_iteration": same_user}
    found = import_text("jmx", group(manager + request("/x"), **properties))
    assert of_group(found) == ({} if kept is None else {"kept": kept})
    assert not found.noted("CookieManager")


def test_a_plan_without_a_cookie_manager_keeps_no_cookies(import_text: Importer) -> None:
    found = import_text("jmx", group(request("/x")))
    assert of_group(found) == {"kept": "never"}
    assert not found.noted("cookie")


def test_a_cookie_manager_of_some_requests_is_noted(import_text: Importer) -> None:
    below = element("GenericController", cookie_manager(clearEachIteration="true") + request("/x")) + request("/y")
    found = import_text("jmx", group(below))
    assert of_group(found) == {"kept": "per_round"}
    assert [why for _, what, why in found.notes() if what == "CookieManager 'C'"] == [
        "applies to some requests of 'G'; in the workload all requests share one store of cookies"
    ]


def header_manager(**headers: str) -> str:
    entries = "".join(
        f'<elementProp name="" elementType="Header"><stringProp name="Header.name">{name}</stringProp>'
        f'<stringProp name="Header.value">{value}</stringProp></elementProp>'
        for name, value in headers.items()
    )
    collection = f'<collectionProp name="HeaderManager.headers">{entries}</collectionProp>'
    return f'<HeaderManager testname="H">{collection}</HeaderManager><hashTree/>'


def test_headers_of_a_manager_are_sent_as_their_author_wrote_them(import_text: Importer) -> None:
    manager = header_manager(Host="shop", Cookie="a=1", Connection="close")
    found = import_text("jmx", group(manager + request("/x")))
    assert found.requests()[0]["headers"] == {"Host": "shop", "Cookie": "a=1"}
    assert found.noted("header Connection")
    found = import_text("jmx", group(manager + cookie_manager() + request("/x")))
    assert found.requests()[0]["headers"] == {"Host": "shop"}
    assert found.noted("header Cookie")


def test_the_outermost_manager_of_logins_and_cookies_holds(import_text: Importer) -> None:
    inner = logins(login("", "inner")) + cookie_manager(clearEachIteration="true") + request("/x")
    below = logins(login("", "outer")) + cookie_manager() + element("GenericController", inner) + request("/y")
    found = import_text("jmx", group(below))
    assert [step["auth"]["user"] for step in found.requests()] == ["outer", "outer"]
    assert of_group(found) == {}
    assert [what for _, what, why in found.notes() if "JMeter uses the outer" in why] == [
        "AuthManager 'A'",
        "CookieManager 'C'",
    ]


def test_the_first_of_two_defaults_beside_each_other_holds(import_text: Importer) -> None:
    def defaults(path: str) -> str:
        inner = f'<stringProp name="HTTPSampler.path">{path}</stringProp>'
        return f'<ConfigTestElement guiclass="HttpDefaultsGui" testname="D">{inner}</ConfigTestElement><hashTree/>'

    inside = element("GenericController", defaults("/inner") + request(""))
    found = import_text("jmx", group(defaults("/first") + defaults("/second") + request("") + inside))
    assert [step["get"] for step in found.requests()] == ["/first", "/inner"]


def test_several_slashes_are_sent_as_one(import_text: Importer) -> None:
    assert import_text("jmx", group(request("/a//b/?u=//c"))).requests()[0]["get"] == "/a/b/?u=//c"


def test_values_that_are_encoded_already_are_not_encoded_twice(import_text: Importer) -> None:
    given = arguments(("a", "1234+Test%26+St.", "false"), ("b", "1+2 %26", "true"))
    found = import_text("jmx", group(post("/f", given) + post("/g", given, "GET") + post("/d", given, "DELETE")))
    wanted = {"a": "1234 Test& St.", "b": "1+2 %26"}
    first, second, third = found.requests()
    assert first["form"] == wanted
    # Only some servers read a `+` in a query as a blank, so it is kept as `+`.
    query = "a=1234+Test%26+St.&b=1%2B2%20%2526"
    assert second["get"] == f"/g?{query}"
    # JMeter sends the arguments of a DELETE request both in the query and in the body.
    assert (third["delete"], third["form"]) == (f"/d?{query}", wanted)
    given = arguments(("a", "1234%20Test%26", "false"))
    assert import_text("jmx", group(post("/g", given, "GET"))).requests()[0]["query"] == {"a": "1234 Test&"}


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
    first = {"RegexExtractor__refname": "t", "RegexExtractor__match_number": "1"}
    regex = element("RegexExtractor", RegexExtractor__regex="a(b)", **first)
    found = import_text("jmx", group(request("/x", regex)))
    assert found.requests()[0]["extract"] == {"t": {"regex": "a(b)", "required": False}}
    empty = element(
        "RegexExtractor",
        **first,
        RegexExtractor__regex="a(b)",
        RegexExtractor__default_empty_value="true",
    )
    found = import_text("jmx", group(request("/x", empty)))
    assert found.requests()[0]["extract"] == {"t": {"regex": "a(b)", "default": ""}}


@pytest.mark.parametrize("number", [None, "", "0", "1", "-1"])
def test_a_number_that_is_absent_takes_any_match_as_in_jmeter(number: str | None, import_text: Importer) -> None:
    kinds = {
        "RegexExtractor": {"RegexExtractor__refname": "t", "RegexExtractor__regex": "a(b)"},
        "BoundaryExtractor": {"BoundaryExtractor__refname": "t", "BoundaryExtractor__lboundary": "a"},
        "JSONPostProcessor": {"JSONPostProcessor__referenceNames": "t", "JSONPostProcessor__jsonPathExprs": "$.a"},
    }
    for kind, properties in kinds.items():
        name = f"{kind}__match_number{'s' if kind == 'JSONPostProcessor' else ''}"
        more = {} if number is None else {name: number}
        found = import_text("jmx", group(request("/x", element(kind, **properties, **more))))
        spec = found.requests()[0]["extract"]["t"]
        assert ("pick" in spec) == (number in {None, "", "0"}), (kind, spec)
        assert bool(found.noted(kind) and number == "-1") == any(
            "the first match is extracted" in why for _, _, why in found.notes()
        )


def test_a_timer_without_a_delay_makes_no_pause(import_text: Importer) -> None:
    found = import_text("jmx", group(request("/x", element("ConstantTimer"))))
    assert [next(iter(step)) for step in found.workload["transactions"]["g"]][-1] == "get"
    assert [step for step in found.workload["transactions"]["g"] if step.get("think") not in {None, "0 s"}] == []


@pytest.mark.parametrize(("timers", "said"), [(None, True), ("true", True), ("false", False)])
def test_the_time_of_a_page_has_no_think_times_in_it(timers: str | None, said: bool, import_text: Importer) -> None:
    timer = element("ConstantTimer", ConstantTimer__delay="20")
    properties = {} if timers is None else {"TransactionController__includeTimers": timers}
    below = request("/x") + request("/y", timer)
    found = import_text("jmx", group(element("TransactionController", below, **properties)))
    assert [why for _, what, why in found.notes() if "TransactionController" in what] == (
        ["JMeter's time includes the timers; the page time excludes think times"] if said else []
    )


def test_a_once_only_controller_inside_another_is_said_to_be_done_each_time(import_text: Importer) -> None:
    once = element("OnceOnlyController", request("/login"))
    found = import_text("jmx", group(element("LoopController", once, LoopController__loops="2")))
    assert [why for _, what, why in found.notes() if "OnceOnly" in what] == [
        "is inside another controller: its steps are executed each time"
    ]


@pytest.mark.parametrize("first", [True, False])
def test_a_once_only_controller_below_others_is_said_to_come_first(first: bool, import_text: Importer) -> None:
    once, other = element("OnceOnlyController", request("/login")), request("/x")
    found = import_text("jmx", group(once + other if first else other + once))
    assert found.workload["groups"]["g"]["once"] == ["g_once"]
    assert [why for _, what, why in found.notes() if "OnceOnly" in what] == (
        [] if first else ["runs before the first round; JMeter runs the elements above it first"]
    )
    found = import_text("jmx", group(once + other, on_sample_error="startnextloop"))
    assert found.noted("OnceOnlyController")


def test_properties_without_a_default_are_what_jmeter_makes_of_them(import_text: Importer) -> None:
    found = import_text("jmx", group(request("/${__P(a)}/${__P(b,2)}/${__property(c)}/${__property(d,,4)}")))
    assert found.workload["parameters"] == {"a": "1", "b": "2", "c": "c", "d": "4"}


def test_letters_of_a_random_text_are_noted(import_text: Importer) -> None:
    found = import_text("jmx", group(request("/${__RandomString(5,abc)}/${__RandomString(6)}")))
    assert found.requests()[0]["get"] == "/${random.text(5)}/${random.text(6)}"
    assert [what for _, what, _ in found.notes() if "RandomString" in what] == [
        "${__RandomString(5,abc)}",
        "${__RandomString(6)}",
    ]


def test_requests_that_wait_without_end_in_jmeter_are_noted(import_text: Importer) -> None:
    assert import_text("jmx", group(request("/x"))).noted("timeouts")
    found = import_text("jmx", group(request("/x", response_timeout="2000", connect_timeout="500")))
    assert not found.noted("timeouts")


def test_headers_of_one_name_in_one_manager_are_sent_together(import_text: Importer) -> None:
    names = [("X-A", "1"), ("x-a", "2"), ("Cookie", "a=1"), ("Cookie", "b=2")]
    found = import_text("jmx", group(manager_of(names) + request("/x")))
    assert found.requests()[0]["headers"] == {"X-A": "1, 2", "Cookie": "a=1; b=2"}


def test_the_type_of_a_form_is_that_of_its_header(import_text: Importer) -> None:
    """A `Content-Type` header remains a header of the request. It overrides the media type of the form."""
    inside = arguments(("a", "1", "true"))
    found = import_text("jmx", group(manager_of([("Content-Type", "application/json")]) + post("/x", inside) * 2))
    assert [step["headers"] for step in found.requests()] == [{"Content-Type": "application/json"}] * 2


@pytest.mark.parametrize(
    ("method", "value", "encode", "said"),
    [
        ("GET", "x=1", "false", "as the body"),
        ("POST", "x=1", "true", "JMeter encodes it"),
        ("POST", "x=1", "false", ""),
        ("POST", "x", "true", ""),
    ],
)
def test_arguments_without_a_name_are_noted(
    method: str, value: str, encode: str, said: str, import_text: Importer
) -> None:
    found = import_text("jmx", group(post("/x", arguments(("", value, encode)), method)))
    notes = [why for _, what, why in found.notes() if what not in {"timeouts", "load of 'G'"}]
    assert [said in why for why in notes] == ([True] if said else [])


@pytest.mark.parametrize(("kind", "said"), [(8, True), (40, False)])
def test_several_statuses_of_an_assertion_that_hold_at_once_are_noted(
    kind: int, said: bool, import_text: Importer
) -> None:
    found = import_text("jmx", group(request("/x", assertion("response_code", kind, "200", "201"))))
    assert found.requests()[0]["check"] == {"status": [200, 201]}
    assert bool(found.noted("ResponseAssertion")) == said


@pytest.mark.parametrize(("browser", "said"), [("true", False), ("false", True)])
def test_headers_that_jmeter_gives_parts_are_noted(browser: str, said: bool, import_text: Importer) -> None:
    inside = arguments(("a", "1", "true")) + "".join(
        f'<boolProp name="HTTPSampler.{name}">{value}</boolProp>'
        for name, value in (("DO_MULTIPART_POST", "true"), ("BROWSER_COMPATIBLE_MULTIPART", browser))
    )
    assert bool(import_text("jmx", group(post("/x", inside))).noted("multipart body")) == said


def test_a_part_of_a_body_has_its_own_media_type(import_text: Importer) -> None:
    typed = arguments(("a", "1", "true"), ("b", "2", "true")).replace(
        '<stringProp name="Argument.name">a<',
        '<stringProp name="HTTPArgument.content_type">text/x</stringProp><stringProp name="Argument.name">a<',
    )
    flag = '<boolProp name="HTTPSampler.DO_MULTIPART_POST">true</boolProp>'
    found = import_text("jmx", group(post("/x", typed + flag)))
    assert found.requests()[0]["multipart"] == {"a": {"value": "1", "content_type": "text/x"}, "b": "2"}


# Data file for the plans below, in which each element has an effect.
_QUOTED = Path(__file__).parents[2] / "data" / "imports" / "quoted.csv"
_REQUEST = {"HTTPSampler.domain": "a", "HTTPSampler.method": "POST"}
_SCOPED = {
    "HTTPSamplerProxy": _REQUEST,
    "HTTPSampler": _REQUEST,
    "HTTPSampler2": _REQUEST,
    "CSVDataSet": {"filename": _QUOTED.name, "variableNames": "a,b", "delimiter": ";", "recycle": "false"},
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
    "CookieManager": {"CookieManager.clearEachIteration": "true"},
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
# The values of these properties are elements, not texts; the tests above cover them.
_STRUCTURED = frozenset({"HTTPsampler.Arguments", "HTTPsampler.Files", "ThreadGroup.main_controller"}) | {
    "AuthManager.auth_list",
    "CookieManager.cookies",
    "HeaderManager.headers",
    "Asserion.test_strings",
    "TestPlan.user_defined_variables",
}
_VALUES = ("true", "false", "17", "zz", "-3", "$2$")


def _plan_with(kind: str, name: str = "", value: str = "") -> str:
    """Return a plan with an element of the given kind that has one more property."""
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
def test_every_property_of_an_element_is_accounted_for(kind: str, import_notes: Importer, tmp_path: Path) -> None:
    """Each property that JMeter lists for an element changes the workload, causes a note, or is harmless."""
    shutil.copy(_QUOTED, tmp_path)
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
        ("HTTPSamplerProxy: HTTPSampler.new_setting = 'on'", "was not imported: the importer does not know this key")
    ]


def defaults(inside: str) -> str:
    properties = '<stringProp name="HTTPSampler.domain">a</stringProp>' + inside
    return f'<ConfigTestElement guiclass="HttpDefaultsGui" testname="D">{properties}</ConfigTestElement><hashTree/>'


def test_arguments_of_defaults_follow_those_of_the_request(import_text: Importer) -> None:
    outer, inner = defaults(arguments(("lang", "en", "true"))), defaults(arguments(("key", "k", "true")))
    below = element("GenericController", inner + post("/x", arguments(("own", "1", "true"))))
    found = import_text("jmx", group(outer + below + request("/y")))
    first, second = found.requests()
    assert list(first["form"].items()) == [("own", "1"), ("key", "k"), ("lang", "en")]
    assert second["query"] == {"lang": "en"}
    assert not found.noted("ConfigTestElement")


def test_a_field_that_comes_twice_is_sent_twice(import_text: Importer) -> None:
    inside = arguments(("a", "1", "true"), ("b", "x y", "true"), ("a", "$2&amp;", "true"))
    found = import_text("jmx", group(post("/x", inside) + post("/y", inside, method="GET")))
    form, query = found.requests()
    assert form["body"] == "a=1&b=x%20y&a=%242%26"
    assert form["headers"] == {"Content-Type": "application/x-www-form-urlencoded"}
    assert query["get"] == "/y?a=1&b=x%20y&a=%242%26"
    assert not found.noted("argument 'a'")


def test_a_field_that_comes_twice_with_a_value_of_the_run_is_sent_twice(import_text: Importer) -> None:
    inside = arguments(("a", "1", "true"), ("a", "${__UUID()}", "true"))
    found = import_text("jmx", group(post("/x", inside)))
    assert found.requests()[0]["body"] == "a=1&a=${uuid|url}"
    assert not found.noted("argument 'a'")


def test_a_cookie_of_a_whole_domain_is_noted(import_text: Importer) -> None:
    def said(domain: str) -> bool:
        manager = cookie_manager(cookie("own", domain=domain, domain_specified="true", path="/"))
        found = import_text("jmx", group(manager + request("/x", host="b")))
        return any("applies to a whole domain" in why for _, what, why in found.notes() if what == "cookie 'own'")

    assert said(".b")
    assert not said("b")


@pytest.mark.parametrize(("loops", "said"), [("1000000", False), ("1000001", True)])
def test_a_loop_above_the_bound_of_workloads_is_noted(loops: str, said: bool, import_text: Importer) -> None:
    found = import_text("jmx", group(element("LoopController", request("/x"), LoopController__loops=loops)))
    assert any("has at most 1000000" in why for _, _, why in found.notes()) == said


def raw(text: str, media_type: str | None) -> str:
    """Return a sampler with a raw body, and a header manager with its media type."""
    body = (
        '<boolProp name="HTTPSampler.postBodyRaw">true</boolProp><elementProp name="HTTPsampler.Arguments" '
        'elementType="Arguments"><collectionProp name="Arguments.arguments"><elementProp name="" '
        f'elementType="HTTPArgument"><stringProp name="Argument.value">{text}</stringProp></elementProp>'
        "</collectionProp></elementProp>"
    )
    return post("/x", body) if media_type is None else manager_of([("Content-Type", media_type)]) + post("/x", body)


@pytest.mark.parametrize(
    ("text", "media_type", "key", "header"),
    [
        ('{"a": 1}', "application/json", {"json": {"a": 1}}, None),
        ('{"a": 1}', "application/json; charset=utf-8", {"json": {"a": 1}}, "application/json; charset=utf-8"),
        ("a=1", "application/x-www-form-urlencoded", {"form": {"a": "1"}}, None),
        ('{"a": ', "application/json", {"body": '{"a": '}, "application/json"),
        ("a", "text/plain", {"body": "a"}, "text/plain"),
        ("a", None, {"body": "a"}, None),
    ],
)
def test_a_raw_body_has_the_key_of_its_media_type(
    text: str, media_type: str | None, key: dict[str, Any], header: str | None, import_text: Importer
) -> None:
    (step,) = import_text("jmx", group(raw(text, media_type))).requests()
    assert {name: value for name, value in step.items() if name in ("json", "form", "body")} == key
    assert (step.get("headers") or {}).get("Content-Type") == header
