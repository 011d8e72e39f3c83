from __future__ import annotations

import math
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from towtank.workload import patterns, templates
from towtank.workload.calls import Sql, Tcp
from towtank.workload.importers.accesslog.paths import ASSETS_AT_MOST, Pattern
from towtank.workload.importers.accesslog.sessions import GAPS_KEPT, Sessions, _halved
from towtank.workload.importers.bodies import _plain
from towtank.workload.importers.har.correlation import _strong, _walk
from towtank.workload.importers.k6.checks import _element
from towtank.workload.importers.k6.expressions import Expressions, _random
from towtank.workload.importers.k6.syntax import unescaped
from towtank.workload.importers.k6.values import Random, Unknown
from towtank.workload.importers.openapi.values import _number
from towtank.workload.importers.thinking import _cdf_normal, _log_least, _quantile_normal
from towtank.workload.importers.writing import import_note_lines
from towtank.workload.model import CONNECTIONS_AT_MOST, Pool, _connections
from towtank.workload.parameters import _secrets_in, secret_parameters
from towtank.yamlfile import read


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        (0, False),
        (1, True),
        (CONNECTIONS_AT_MOST, True),
        (CONNECTIONS_AT_MOST + 1, False),
        (True, False),
        (-1, False),
        ("per_user", True),
        ("new_each_time", True),
        ("shared", False),
        ({"pool": 4}, True),
    ],
)
def test_the_size_of_a_pool_of_connections(value: object, accepted: bool) -> None:
    if accepted:
        assert _connections(value) == value
    else:
        with pytest.raises(ValueError, match="must be"):
            _connections(value)


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        ({"weight": "w"}, True),
        ({"weight": "w", "order": "weighted"}, True),
        ({"weight": "w", "order": "random"}, False),
        ({"order": "weighted"}, False),
        ({"order": "random"}, True),
        ({"csv": "x.csv"}, False),
        ({"rows": [{}]}, False),
        ({"rows": None}, False),
    ],
)
def test_a_pool_of_data_has_one_source_and_an_order_that_fits(given: dict[str, Any], accepted: bool) -> None:
    whole = {"rows": [{"a": 1, "w": 2}], **given}
    if accepted:
        Pool.model_validate(whole)
    else:
        with pytest.raises(ValueError, match="must have"):
            Pool.model_validate(whole)


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("random.int(5, 5)", True),
        ("random.int(5, 4)", False),
        ("random.int(0, 1)", True),
        ("random.int(5)", False),
        ("random.text(1)", True),
        ("random.text(0)", False),
        ("random.text(1048576)", True),
        ("random.text(1048577)", False),
        ("random.text(1, 2)", False),
    ],
)
def test_random_values_have_a_range(text: str, accepted: bool) -> None:
    if accepted:
        (found,) = templates.parse(f"${{{text}}}")
        assert not isinstance(found, str)
    else:
        with pytest.raises(ValueError, match="must be random"):
            templates.parse(f"${{{text}}}")


@pytest.mark.parametrize(
    ("pattern", "accepted"),
    [
        (r"\U0010FFFF", True),
        (r"\U00110000", False),
        (r"\uD800", False),
        (r"\uDFFF", False),
        (r"\uE000", True),
        (r"(a)\1", False),
        (r"\<", False),
        (r"\/", True),
        (r"\q", False),
        (r"[a[b]", False),
        (r"[a&&b]", False),
        (r"[\d-]", True),
    ],
)
def test_escapes_of_a_regular_expression(pattern: str, accepted: bool) -> None:
    if accepted:
        assert patterns.regex(pattern) == pattern
    else:
        with pytest.raises(ValueError, match="must"):
            patterns.regex(pattern)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"text": "a", "receive": 1}, "exchange"),
        ({"send": "YQ==", "receive": 1}, "exchange"),
        ({"text": "a"}, "send"),
        ({"receive": 1}, "receive"),
        ({}, "connect"),
    ],
)
def test_an_exchange_of_bytes_is_named_by_its_directions(given: dict[str, Any], what: str) -> None:
    bytes_ = SimpleNamespace(**{"send": None, "text": None, "receive": None, **given})
    assert Tcp.what.fget(SimpleNamespace(tcp=bytes_)) == what  # type: ignore[attr-defined]


def test_a_call_without_a_name_is_named_by_its_statement() -> None:
    long = "select " + "a" * 200
    step = Sql.model_validate({"sql": "select  1\n from t"})
    assert (step.what, step.written, step.title) == ("select 1 from t", "select 1 from t", "select 1 from t")
    assert Sql.model_validate({"sql": "select 1", "name": "one"}).written == "one"
    shown = Sql.model_validate({"sql": long}).what
    exact = Sql.model_validate({"sql": long[: len(shown)]}).what
    assert shown.endswith("…")
    assert exact == long[: len(shown)]
    assert shown[:-1] == long[: len(shown) - 1]


@pytest.mark.parametrize(
    ("text", "path", "found"),
    [
        ("${parameters.pass}", ("auth", "password"), ["pass"]),
        ("${parameters.pass}", ("password", 0), ["pass"]),
        ("${parameters.pass}", ("password", "a", "b"), []),
        ("token=${parameters.key}", ("a", "body"), ["key"]),
        ("page=${parameters.key}", ("a", "body"), []),
    ],
)
def test_parameters_at_the_place_of_a_secret_are_secret(text: str, path: tuple[str, ...], found: list[str]) -> None:
    assert _secrets_in(text, path) == found


def test_buckets_are_joined_in_pairs() -> None:
    assert _halved({0: 1, 1: 2, 2: 4, 5: 8}) == {0: 3, 1: 4, 2: 8}


def test_only_a_sample_of_many_gaps_is_kept() -> None:
    sessions = Sessions(None)  # type: ignore[arg-type]
    for _ in range(GAPS_KEPT + 500):
        sessions._gap(10.0)
    assert (len(sessions.gaps), sessions.gap_count, sessions.gap_sum) == (
        GAPS_KEPT,
        GAPS_KEPT + 500,
        10.0 * (GAPS_KEPT + 500),
    )
    assert all(9.5 <= gap <= 10.5 for gap in sessions.gaps)


@pytest.mark.parametrize(("known", "kept"), [(ASSETS_AT_MOST - 1, True), (ASSETS_AT_MOST, False)])
def test_a_pattern_keeps_a_limited_number_of_assets(known: int, kept: bool) -> None:
    def pattern(assets: Counter[str]) -> Any:
        counts = {
            "line": 5,
            "count": 2,
            "failures": 1,
            "not_kept": 1,
            "response_time": 0.5,
            "statuses": Counter({200: 1}),
        }
        return SimpleNamespace(assets=assets, **counts)

    one, other = pattern(Counter({f"{n}.js": 1 for n in range(known)})), pattern(Counter({"0.js": 3, "new.js": 2}))
    other.line = 3
    Pattern.merge(one, other)
    assert (one.line, one.count, one.failures, one.response_time, one.statuses[200]) == (3, 4, 2, 1.0, 2)
    assert one.assets["0.js"] == 4
    assert ("new.js" in one.assets) is kept


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (10**18 - 1, True),
        (10**18, False),
        (-(10**18), False),
        (9.9e98, True),
        (1e99, False),
        (float("nan"), False),
        ([[1]], True),
        ([[[1]]], False),
        ([1, [float("nan")]], False),
        ("x", True),
        (True, True),
    ],
)
def test_values_that_yaml_keeps(value: object, plain: bool) -> None:
    assert _plain(value, 2) is plain


@pytest.mark.parametrize(
    ("value", "strong"),
    [
        ("abcdef1", False),
        ("abcdefg1", True),
        ("123456789", False),
        ("1234567890", True),
        ("abcdefgh", False),
        ("Abcdefghijklmnopqrstuvwx", True),
        ("Abcdefghijklmnopqrstuvw", False),
        ("abcdefghijklmnopqrstuvwxyz", False),
        ("abc def1234", False),
    ],
)
def test_values_that_look_generated(value: str, strong: bool) -> None:
    assert _strong(value) is strong


def test_values_of_json_are_found_up_to_a_depth_of_forty() -> None:
    def nested(depth: int) -> Any:
        value: Any = "x"
        for _ in range(depth):
            value = [value]
        return value

    assert len(list(_walk(nested(40), "$", "", 0))) == 1
    assert list(_walk(nested(41), "$", "", 0)) == []
    found = list(_walk({"a": [1, ""], "b c": "x", "it's": 5, "d": True}, "$", "", 0))
    assert found == [("$.a[0]", "a", "1"), ("$['b c']", "b c", "x")]


@pytest.mark.parametrize(
    ("sign", "length", "element"),
    [(">", 0, "a[0]"), (">", 2, "a[2]"), (">=", 2, "a[1]"), (">=", 1, "a[0]"), ("!==", 0, "a[0]")],
)
def test_the_length_of_a_list_is_checked_by_its_element(sign: str, length: int, element: str) -> None:
    assert _element("a", sign, length, None) == element  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sign", "left", "right", "value"),
    [("*", 2.0, 2.0**51, 2**52), ("*", 2.0, 2.0**52, 2.0**53), ("/", 1.0, 4.0, 0.25), ("-", 3.0, 5.0, -2)],
)
def test_a_whole_result_is_a_whole_number_while_it_is_exact(sign: str, left: float, right: float, value: float) -> None:
    found = Expressions._computed(sign, left, right, None)  # type: ignore[arg-type]
    assert found == value
    assert isinstance(found, int) is isinstance(value, int)


@pytest.mark.parametrize(
    ("text", "shown"), [(r"\u{10FFFF}", "\U0010ffff"), (r"\u{110000}", "\ufffd"), (r"\x41\n", "A\n"), (r"\q", "q")]
)
def test_escapes_of_javascript(text: str, shown: str) -> None:
    assert unescaped(text) == shown


def schema(text: str) -> Any:
    return read(text, "schema.yaml").root


@pytest.mark.parametrize(
    ("text", "whole", "number"),
    [
        ("type: integer", True, 1),
        ("minimum: 5", True, 5),
        ("maximum: -5", True, -5),
        ("{minimum: 5, exclusiveMinimum: true}", True, 6),
        ("{maximum: -5, exclusiveMaximum: true}", True, -6),
        ("exclusiveMinimum: 5", True, 6),
        ("exclusiveMaximum: -5", True, -6),
        ("{minimum: 5, exclusiveMinimum: false}", True, 5),
        ("{minimum: 5, multipleOf: 4}", True, 8),
        ("{maximum: 5, multipleOf: 4}", True, 4),
        ("{minimum: 2, maximum: 3, multipleOf: 2}", True, 2),
        ("{exclusiveMinimum: 1}", False, 1.001),
    ],
)
def test_a_number_of_a_schema_is_the_closest_to_one(text: str, whole: bool, number: float) -> None:
    assert _number(schema(text), whole=whole) == pytest.approx(number)


def test_think_times_of_a_truncated_normal_distribution() -> None:
    x, (mean, sd, least) = np.array([0.5, 1.0, 3.0]), (1.0, 2.0, 0.2)
    truth = stats.truncnorm((least - mean) / sd, math.inf, loc=mean, scale=sd)
    assert _cdf_normal(x, least, (mean, sd)) == pytest.approx(truth.cdf(x))
    assert _quantile_normal(np.array([0.1, 0.5, 0.9]), least, (mean, sd)) == pytest.approx(truth.ppf([0.1, 0.5, 0.9]))
    assert (_log_least(0.5), _log_least(0.0)) == (pytest.approx(math.log(0.5)), -50.0)


def test_a_note_names_some_of_its_places() -> None:
    note: Any = SimpleNamespace(places={(3, 0), (1, 5), (2, 0)}, times=7, what="x", why="y")
    assert import_note_lines("f", note, 2) == ["f:1:5: x: y", "f:2: x: y", "f: x: the same at 5 further positions"]
    note.times = 3
    assert import_note_lines("f", note, 3) == ["f:1:5: x: y", "f:2: x: y", "f:3: x: y"]


def test_secrets_of_a_workload_are_found_in_its_steps_but_not_in_its_parameters() -> None:
    text = """parameters: {key: "1", other: "${parameters.key}", password: "${parameters.never}"}
defaults: {auth: {user: u, password: "${parameters.key}"}}
transactions: {t: [{get: "/x?token=${parameters.of_query}&a=${parameters.plain}"}]}
"""
    assert secret_parameters(read(text, "w.yaml").root) == {"key", "of_query"}


@pytest.mark.parametrize(
    ("sign", "left", "right", "bounds"),
    [
        ("/", Random(2.0, 6.0), 4, (0.5, 1.5)),
        ("*", Random(2.0, 6.0), 4, (8.0, 24.0)),
        ("*", 4, Random(2.0, 6.0), (8.0, 24.0)),
        ("+", 1.5, Random(2.0, 6.0), (3.5, 7.5)),
        ("-", Random(2.0, 6.0), 1.5, (0.5, 4.5)),
        ("-", Random(2.0, 6.0, whole=True), 2, (0.0, 4.0)),
        ("*", Random(2.0, 6.0, whole=True), 2, None),
        ("*", Random(2.0, 6.0), 0, None),
        ("-", 7, Random(2.0, 6.0), None),
    ],
)
def test_arithmetic_with_a_random_number_moves_its_bounds(
    sign: str, left: Any, right: Any, bounds: tuple[float, float] | None
) -> None:
    found = _random(sign, left, right)
    assert (None if found is None else (found.low, found.high)) == bounds  # type: ignore[union-attr]
    assert isinstance(_random("+", Random(2.0, 6.0, whole=True), 0.5), Unknown)
