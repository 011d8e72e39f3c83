"""JMeter paths that begin with a variable; its value may contain a slash or an address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jmeter_plans import element, group, request

Importer = Callable[..., Any]
_NOTE = "path that begins with"


def variables(**values: str) -> str:
    entries = "".join(
        f'<elementProp name="{name}" elementType="Argument"><stringProp name="Argument.name">{name}</stringProp>'
        f'<stringProp name="Argument.value">{value}</stringProp></elementProp>'
        for name, value in values.items()
    )
    collection = f'<collectionProp name="Arguments.arguments">{entries}</collectionProp>'
    return f'<Arguments testname="U">{collection}</Arguments><hashTree/>'


def rows(columns: str = "to") -> str:
    return element("CSVDataSet", filename="rows.csv", variableNames=columns, delimiter=",")


def extractor(pattern: str) -> str:
    spec = {"refname": "to", "regex": pattern, "template": "$1$", "match_number": "1", "default": "none"}
    return element("RegexExtractor", **{f"RegexExtractor__{key}": text for key, text in spec.items()})


@pytest.mark.parametrize(
    ("value", "path", "wanted"),
    [
        ("/base", "${v}/x", "${parameters.v}/x"),
        ("base", "${v}/x", "/${parameters.v}/x"),
        ("", "${v}/x", "${parameters.v}/x"),
        ("", "${v}x", "/${parameters.v}x"),
        ("/base/", "${v}/x?u=//y", "/base/x?u=//y"),
        ("http://b:81/y?z=1", "${v}", "/y?z=1"),
        ("http", "${v}://b:81/y/${v}", "/y/${parameters.v}"),
        ("a b&amp;c", "/x?v=${v}", "/x?v=a%20b&c"),
        ("a", "/x?v=${v}#part", "/x?v=${parameters.v}"),
        ("a b&amp;c", "/x?v=${__urlencode(${v})}", "/x?v=a+b%26c"),
    ],
)
def test_a_constant_has_its_slash_or_its_address(value: str, path: str, wanted: str, import_text: Importer) -> None:
    found = import_text("jmx", group(variables(v=value) + request(path)))
    assert found.requests()[0]["get"] == wanted
    assert sorted(found.draft.targets.values()) == (["http://b:81"] if value.startswith("http") else ["http://a"])
    assert not found.noted(_NOTE)


@pytest.mark.parametrize(
    ("values", "wanted", "said"),
    [
        (["/x", "/y"], "${rows.to}", False),
        (["x", "y"], "/${rows.to}", False),
        (["/x", "y"], "${rows.to}", True),
        (["http://b/x"], "${rows.to}", True),
    ],
)
def test_a_column_has_its_slashes(
    values: list[str], wanted: str, said: bool, import_text: Importer, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("\n".join(values) + "\n", "utf-8")
    found = import_text("jmx", group(rows() + request("${to}")))
    assert found.requests()[0]["get"] == wanted
    assert bool(found.noted(_NOTE)) == said


def test_a_column_of_a_file_that_is_not_here_is_noted(import_text: Importer) -> None:
    assert import_text("jmx", group(rows() + request("${to}"))).noted(_NOTE)


@pytest.mark.parametrize(("pattern", "slash", "said"), [('href="(.+?)"', "", True), ('href="/(.+?)"', "/", False)])
def test_what_an_answer_gives_has_its_slash_unless_one_stands_before_it(
    pattern: str, slash: str, said: bool, import_text: Importer
) -> None:
    found = import_text("jmx", group(request("/x", extractor(pattern)) + request("${to}?y=1") + request("/z/${to}")))
    assert [each["get"] for each in found.requests()] == ["/x", f"{slash}${{to}}?y=1", "/z/${to}"]
    assert bool(found.noted(_NOTE)) == said


def test_places_with_other_defaults_of_a_property_are_noted(import_text: Importer) -> None:
    paths = ("/${__P(a)}", "/${__P(a,3)}", "/${__P(a,1)}", "/${__property(a,,3)}")
    found = import_text("jmx", group("".join(map(request, paths))))
    assert {each["get"] for each in found.requests()} == {"/${parameters.a}"}
    assert found.draft.parameters == {"a": "1"}
    assert len(found.noted("property a")) == 2


def test_a_variable_and_a_property_of_one_name_are_two(import_text: Importer) -> None:
    found = import_text("jmx", group(variables(a="5") + request("/${a}/${__P(a,10)}/${a}")))
    assert found.requests()[0]["get"] == "/${parameters.a}/${parameters.a_2}/${parameters.a}"
    assert found.draft.parameters == {"a": "5", "a_2": "10"}


@pytest.mark.parametrize(("host", "name"), [("${to}", "to"), ("${nobody}", "nobody"), ("shop-${to}", "shop_to")])
def test_an_address_of_the_run_has_a_target_of_its_own(host: str, name: str, import_text: Importer) -> None:
    """A host that is known only at run time becomes a target of its own, to which logins of other targets are
    not sent.
    """
    found = import_text("jmx", group(rows() + request("/x") + request("/y", host=host, port="${to}") + request("/z")))
    assert [step["target"] for step in found.requests()] == ["a", name, "a"]
    assert len(found.noted("address ")) == 1


@pytest.mark.parametrize(("value", "said"), [("a b", True), ("ä", True), ("a-b", False)])
def test_values_in_paths_that_are_not_encoded_are_noted(
    value: str, said: bool, import_text: Importer, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text(f"x\n{value}\n", "utf-8")
    found = import_text("jmx", group(rows() + request("/x?v=${to}")))
    assert bool(found.noted("values of ${to} in a path")) == said


def test_names_of_columns_are_divided_by_commas(import_text: Importer, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a1\tb1\na2\tb2\n", "utf-8")
    data = element("CSVDataSet", filename="rows.csv", variableNames="a, b", delimiter="\\t")
    found = import_text("jmx", group(data + request("/${a}/${b}")))
    assert found.requests()[0]["get"] == "/${rows.a}/${rows.b}"
    assert found.workload["data"]["rows"]["rows"] == [["a1", "b1"], ["a2", "b2"]]


@pytest.mark.parametrize(("template", "said"), [("$1$", False), ("id$1$", True), ("$1$$1$", True)])
def test_text_in_the_template_of_an_extractor_is_noted(template: str, said: bool, import_text: Importer) -> None:
    made = extractor("a(b)").replace("$1$", template)
    found = import_text("jmx", group(request("/x", made) + request("/y/${to}")))
    assert any("group" in why for _, what, why in found.notes() if what.startswith("RegexExtractor")) == said


@pytest.mark.parametrize(
    ("path", "host", "sent"), [("/x", "[a", "/x"), ("http://[a/x?q=1", "b", "/x?q=1"), ("http://[a", "b", "/")]
)
def test_an_address_that_is_none_is_noted(path: str, host: str, sent: str, import_text: Importer) -> None:
    cookie = (
        '<CookieManager testname="C"><collectionProp name="CookieManager.cookies">'
        '<elementProp name="c" elementType="Cookie"><stringProp name="Cookie.value">${__UUID}</stringProp>'
        '<stringProp name="Cookie.domain">b</stringProp></elementProp></collectionProp></CookieManager><hashTree/>'
    )
    found = import_text("jmx", group(cookie + request(path, host=host)))
    assert found.requests()[0]["get"] == sent
    assert found.noted("address 'http://[a'")
