from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from jmeter_plans import assertion, element, plan, sampler

from towtank.workload.importers.draft import ImportDraft
from towtank.workload.importers.jmx.elements import _one_group
from towtank.workload.importers.jmx.texts import Texts

Importer = Callable[..., Any]


def steps_of(found: Any) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = found.workload["transactions"]["g"]
    return steps


def test_the_example(import_file: Importer) -> None:
    found = import_file("jmx", "plan.jmx")
    groups = found.workload["groups"]
    assert {name: group["share"] for name, group in groups.items()} == {"buyers": "33.3333 %", "readers": "66.6667 %"}
    assert groups["buyers"]["once"] == ["buyers_once"]
    assert found.draft.findings["load"]["users"] == 90
    assert found.draft.findings["load"]["groups"][0] == {
        "group": "buyers",
        "users": 30,
        "ramp_up_s": 60.0,
        "duration_s": 600.0,
        "loops": "10",
    }
    assert found.workload["data"]["users"]["rows"] == [["alice", "a-secret"], ["bob", "b-secret"]]
    login = next(item for item in found.workload["transactions"]["buyers"] if item.get("page") == "Log in")
    assert login["steps"][0]["extract"] == {
        "csrf_token": {"regex": '(?:name|id)="csrf" value="(.+?)"', "default": "NOT_FOUND"}
    }
    assert login["steps"][2]["form"] == {"user": "${users.user_name}", "csrf": "${csrf_token}"}
    assert login["steps"][2]["check"] == {"status": 302}
    for what, line in (
        ("JSR223PostProcessor", 147),
        ("'Off'", 202),
        ("WhileController", 207),
        ("ResultCollector", 215),
    ):
        assert found.noted(what) == [line]


@pytest.mark.parametrize(
    ("tag", "properties", "pause"),
    [
        ("ConstantTimer", {"ConstantTimer__delay": "250"}, "250 ms"),
        (
            "UniformRandomTimer",
            {"ConstantTimer__delay": "100", "RandomTimer__range": "400"},
            {"uniform": {"min": "100 ms", "max": "500 ms"}},
        ),
        (
            "GaussianRandomTimer",
            {"ConstantTimer__delay": "3000", "RandomTimer__range": "100"},
            {"normal": {"mean": "3 s", "sd": "100 ms", "min": "0 s"}},
        ),
        (
            "PoissonRandomTimer",
            {"ConstantTimer__delay": "100", "RandomTimer__range": "400"},
            {"normal": {"mean": "500 ms", "sd": "20 ms", "min": "0 s"}},
        ),
    ],
)
def test_timers(tag: str, properties: dict[str, str], pause: Any, import_text: Importer) -> None:
    found = import_text("jmx", plan(element(tag, **properties) + sampler("/x")))
    assert steps_of(found)[0] == {"think": pause}


def test_a_throughput_timer_is_reported(import_text: Importer) -> None:
    found = import_text("jmx", plan(element("ConstantThroughputTimer", throughput="60") + sampler("/x")))
    assert found.noted("ConstantThroughputTimer") == [2]
    assert [next(iter(step)) for step in steps_of(found)] == ["get"]


@pytest.mark.parametrize(
    ("field", "kind", "text", "check"),
    [
        ("response_code", 8, "201", {"status": 201}),
        ("response_code", 1, "200|302", {"status": [200, 302]}),
        ("response_code", 1, r"2\d\d", {"status": "2xx"}),
        ("response_data", 16, "a.b", {"contains": ["a.b"]}),
        ("response_data", 2, "a.b", {"regex": ["a.b"]}),
        ("response_data", 2, "plain", {"contains": ["plain"]}),
        ("response_data", 1, "a.*", {"regex": ["^(?:a.*)$"]}),
        ("response_data", 20, "bad", {"not_contains": ["bad"]}),
        ("response_data", 6, "b.d", {"not_regex": ["b.d"]}),
        ("response_data", 1, "plain", {"regex": ["^(?:plain)$"]}),
        ("response_data", 5, "plain", {"not_regex": ["^(?:plain)$"]}),
        ("response_data", 2, "a.${__P(some,b)}", {"regex": ["a.b"]}),
        ("response_code", 1, "200|404", {"status": 200}),
        ("response_code", 8, "404", None),
        ("response_data", 2, "a.${none}", None),
    ],
)
def test_assertions(field: str, kind: int, text: str, check: dict[str, Any] | None, import_text: Importer) -> None:
    found = import_text("jmx", plan(sampler("/x", assertion(field, kind, text))))
    assert found.requests()[0].get("check") == check
    assert check is not None or found.noted("ResponseAssertion")


def test_a_status_that_an_assertion_ignores_is_good(import_text: Importer) -> None:
    ignoring = assertion("response_code", 8, "404").replace(
        "</ResponseAssertion>", '<boolProp name="Assertion.assume_success">true</boolProp></ResponseAssertion>'
    )
    assert import_text("jmx", plan(sampler("/x", ignoring))).requests()[0]["check"] == {"status": 404}


@pytest.mark.parametrize(
    ("kind", "check"),
    [(16, {"contains": ["a", "b"]}), (48, {"regex": ["(?:a|b)"]}), (20, {"not_contains": ["a", "b"]}), (52, None)],
)
def test_several_texts_of_an_assertion(kind: int, check: dict[str, Any] | None, import_text: Importer) -> None:
    """In an assertion all patterns must match; with flag 32 (OR), one suffices. A workload cannot check that one of
    several texts is absent.
    """
    found = import_text("jmx", plan(sampler("/x", assertion("response_data", kind, "a", "b"))))
    assert found.requests()[0].get("check") == check
    assert bool(found.noted("ResponseAssertion")) == (check is None)


@pytest.mark.parametrize(
    ("pattern", "number", "expected"),
    [("(a)(b)", 2, "(?:a)(b)"), (r"\((a)[(](?:x)", 1, r"\((a)[(](?:x)"), ("(a)", 0, "(?:a)")],
)
def test_one_group_is_left(pattern: str, number: int, expected: str) -> None:
    assert _one_group(pattern, number) == expected


def test_controllers(import_text: Importer) -> None:
    share = (
        '<ThroughputController testname="T"><intProp name="ThroughputController.style">1</intProp><FloatProperty>'
        "<name>ThroughputController.percentThroughput</name><value>25.0</value></FloatProperty></ThroughputController>"
        f"<hashTree>{sampler('/t')}</hashTree>"
    )
    loop = element("LoopController", sampler("/l"), LoopController__loops="4")
    chosen = element("RandomController", sampler("/1") + sampler("/2") + sampler("/3"))
    tried, looped, one = steps_of(import_text("jmx", plan(share + loop + chosen)))
    assert tried["branch"] == "25 %"
    assert looped["loop"] == 4
    # Each round chooses one of three requests. The first has a probability of a third; if it is not chosen, the second
    # has a probability of a half.
    assert (one["branch"], one["then"][0]["get"]) == ("33.3333 %", "/1")
    assert (one["else"][0]["branch"], one["else"][0]["then"][0]["get"]) == ("50 %", "/2")
    assert one["else"][0]["else"][0]["get"] == "/3"


def test_scopes_of_headers_and_timers(import_text: Importer) -> None:
    header = (
        '<HeaderManager testname="H"><collectionProp name="HeaderManager.headers"><elementProp>'
        '<stringProp name="Header.name">X-A</stringProp><stringProp name="Header.value">{}</stringProp>'
        "</elementProp></collectionProp></HeaderManager><hashTree/>"
    )
    inner = element("GenericController", header.format("inner") + sampler("/in"))
    found = import_text("jmx", plan(header.format("outer") + inner + sampler("/out")))
    assert [(step["get"], step["headers"]["X-A"]) for step in found.requests()] == [("/in", "inner"), ("/out", "outer")]


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("${__UUID}-${__time()}", "${uuid}-${now.ms}"),
        ("${__Random(5,2)}", "${random.int(2, 5)}"),
        ("${__P(speed,fast)}", "${parameters.speed}"),
        ("${a}", "${parameters.a}"),
        ("${nested}", "x${parameters.a}"),
        ("${loop}", "${parameters.loop}"),
        ("${no}", "$${no}"),
        ("${__urlencode(${a} &b)}", "1+%26b"),
        ("${__urlencode(${no})}", "$${__urlencode($${no})}"),
        ("${open", "$${open"),
        ("${got}${__urlencode(${got})}", "${got}${got|url}"),
    ],
)
def test_texts(text: str, template: str) -> None:
    draft = ImportDraft("x.jmx", "jmx", "x")
    texts = Texts(draft)
    texts.constants = {"a": "1", "nested": "x${a}", "loop": "${loop}"}
    texts.extracted = texts.assigned = {"got"}
    assert texts.template(text, (1, 1)) == template
    assert texts.static("${nested}/${__P(p,d)}/${no}") == "x1/d/${no}"


def test_a_missing_data_file_is_reported(import_text: Importer) -> None:
    data = element("CSVDataSet", filename="gone.csv", variableNames="a,b")
    found = import_text("jmx", plan(data + sampler("/x/${a}")))
    assert found.workload["data"]["gone"]["rows"] == [["change-me-a", "change-me-b"]]
    assert found.requests()[0]["get"] == "/x/${gone.a}"
    assert found.noted("CSV data set") == [2]


def test_a_data_file_with_a_header_is_named(import_text: Importer, tmp_path: Any) -> None:
    (tmp_path / "data.csv").write_text("name,size\na,1\n")
    found = import_text("jmx", plan(element("CSVDataSet", filename="data.csv", recycle="false") + sampler("/${name}")))
    assert found.workload["data"] == {"data": {"csv": "data.csv", "order": "unique"}}


def test_embedded_addresses_and_ports(import_text: Importer) -> None:
    found = import_text("jmx", plan(sampler("https://b:8443/x?y=1") + sampler("/z")))
    assert found.draft.targets == {"b": "https://b:8443", "a": "http://a"}
    assert [(step["get"], step["target"]) for step in found.requests()] == [("/x?y=1", "b"), ("/z", "a")]
