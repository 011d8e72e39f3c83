from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.errors import ModelError
from towtank.sizing.rules.checking_units import dimension_of
from towtank.sizing.rules.language import FormulaError, names, parse
from towtank.sizing.rules.quantities import dimension_text, parse_quantity, parse_unit, shown_quantity
from towtank.sizing.rules.working import work_out, written


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("16 / 4 / 2", 2),
        ("2 ^ 3 ^ 2", 512),
        ("-2 ^ 2", -4),
        ("2 ^ -1", 0.5),
        ("min(3, 1, 2) + max(1, 5)", 6),
        ("floor(2.7) + ceil(2.1) + round(2.6)", 8),
        ("sqrt(16) + log(1) + exp(0) + abs(-2)", 7),
        ("if(1 < 2 and not 3 < 2, 10, 20)", 10),
        ("if(false or 1 == 2, 10, 20)", 20),
        ("3 KiB", 3072),
        ("2 min", 120),
        ("70 %", 0.7),
        ("1e3", 1000),
        # In binary floating point, 0.1 + 0.2 is 0.30000000000000004, and 0.29 * 100 is below 29. Rules compute in
        # decimal, so their results are exact.
        ("if(0.1 + 0.2 <= 0.3, 1, 0)", 1),
        ("floor(0.29 * 100)", 29),
    ],
)
def test_arithmetic(text, value):
    assert work_out(parse(text), {}) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "the end of the formula"),
        ("1 +", 3, "the end of the formula"),
        ("users * ", 8, "the end of the formula"),
        ("a b", 2, "operator"),
        ("(a", 2, "')'"),
        ("a < b < c", 6, "two values at a time"),
        ("foo(2)", 0, "must be a function among"),
        ("sqrt(1, 2)", 0, "1 argument"),
        ("min(1)", 0, "at least 2"),
        ("3 KB", 2, "unit behind a number"),
        ("a.b", 1, "'.'"),
        ("__import__('os')", 11, "got"),
        ("a; b", 1, "';'"),
        ("max", 0, "word 'max'"),
        ("[1]", 0, "'['"),
        ("1" + " + 1" * 400, 0, "at most 1000 characters"),
        ("1" + "+1" * 200, 200, "at most 200 numbers, names and signs"),
        ("(" * 60 + "1" + ")" * 60, 31, "nested"),
        ("-" * 60 + "1", 31, "nested"),
        ("max(1," * 35 + "1" + ")" * 35, 30 * 6 + 4, "nested"),
    ],
)
def test_what_is_no_formula_is_reported_with_its_character(text, position, words):
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert words in str(caught.value)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 / (a - a)", "division by zero"),
        ("sqrt(a - 5)", "no answer"),
        ("(a - 5) ^ 0.5", "root of a negative number"),
        ("log(a - 2)", "no answer"),
        ("(10 ^ 99) ^ 99", "no answer"),
        ("exp(1e4)", "no answer"),
    ],
)
def test_what_has_no_answer(text, words):
    with pytest.raises(ModelError, match=words):
        work_out(parse(text), {"a": 2.0})


def test_the_longest_chain_that_is_read_is_worked_out():
    tree = parse("1" + "+a" * 99)
    assert work_out(tree, {"a": 2.0}) == 199
    assert dimension_of(tree, {"a": parse_unit("users").dimension}) == parse_unit("1").dimension
    assert parse(written(tree)) is not None


def test_names_stand_in_their_order():
    assert names(parse("if(b > a, c * b, -d)")) == ["b", "a", "c", "d"]


KINDS = {
    "time": parse_unit("s").dimension,
    "size": parse_unit("GiB").dimension,
    "speed": parse_unit("Mbit/s").dimension,
    "users": parse_unit("users").dimension,
    "switch": None,
}


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("size / speed", "s"),
        ("size / speed / time", "a plain number"),
        ("users * 2 MB", "B"),
        ("max(0, time)", "s"),
        ("sqrt(time * time)", "s"),
        ("time ^ 2", "s^2"),
        ("users / time", "1/s"),
        ("if(switch, time, 0)", "s"),
        ("abs(time - 3 s)", "s"),
    ],
)
def test_units_of_formulas(text, dimension):
    found = dimension_of(parse(text), KINDS)
    assert found is not None
    assert dimension_text(found) == dimension


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time + size", "got s and B"),
        ("time < 3", "got s and a plain number"),
        ("min(time, size)", "got s and B"),
        ("if(switch, time, size)", "got s and B"),
        ("floor(size)", "plain number"),
        ("2 ^ time", "exponent"),
        ("time ^ users", "a literal number as exponent"),
        ("switch + 1", "got a yes or no"),
        ("time and switch", "got a number"),
        ("not time", "got a number"),
    ],
)
def test_units_that_do_not_fit(text, words):
    with pytest.raises(FormulaError, match=words):
        dimension_of(parse(text), KINDS)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("8 GiB", "B", 8 * 2**30),
        (8, "GiB", 8 * 2**30),
        ("19200 bit/s", "B/s", 2400),
        ("10000 rpm", "1/s", 10000 / 60),
        ("5 /h", "1/s", 5 / 3600),
        ("70 %", "1", 0.7),
        (70, "%", 0.7),
        ("400", "users", 400),
        ("3 {pods}", "1", 3),
        ("335.16 GB/h", "MB/s", 93.1e6),
    ],
)
def test_quantities(text, unit, value):
    assert parse_quantity(text, parse_unit(unit)) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        ("4 s", "GB", "which is s"),
        ("4 parsec", "GB", "known unit"),
        ("four", "GB", "a number or a quantity"),
        (True, "1", "a number or a quantity"),
        (None, "1", "a number or a quantity"),
        ("1e999", "1", "known unit"),
        ("nan", "1", "a number or a quantity"),
        ("4 GB/", "GB", "must be a unit"),
    ],
)
def test_what_is_no_quantity(value, unit, words):
    with pytest.raises(ValueError, match=words):
        parse_quantity(value, parse_unit(unit))


def test_shown_quantities():
    assert shown_quantity(8651579392.0, parse_unit("B")) == "8651579392 B (8.057 GiB)"
    assert shown_quantity(1024.0, parse_unit("B")) == "1024 B (1 KiB)"
    assert shown_quantity(1023.0, parse_unit("B")) == "1023 B"
    assert shown_quantity(64.0 * 2**20, parse_unit("GiB")) == "64 MiB"
    assert shown_quantity(0.7, parse_unit("%")) == "70 %"
    assert shown_quantity(1.0, parse_unit("threads")) == "1 thread"
    assert shown_quantity(2.0, parse_unit("{pods}")) == "2 pods"
    assert shown_quantity(True, parse_unit("yes or no")) == "yes"


LEAVES = st.sampled_from(["a", "b", "2", "0.5", "7"])
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        inner.map(lambda parts: f"(-{parts})"),
        st.tuples(inner, inner).map(lambda parts: f"min({parts[0]}, {parts[1]})"),
        st.tuples(inner, inner, inner).map(lambda parts: f"if({parts[0]} < {parts[1]}, {parts[2]}, {parts[0]})"),
    ),
    max_leaves=8,
)


@given(TREES)
def test_what_is_written_means_what_was_read(text):
    tree, values = parse(text), {"a": 3.0, "b": 11.0}
    again = parse(written(tree))
    try:
        value = work_out(tree, values)
    except ModelError:
        with pytest.raises(ModelError):
            work_out(again, values)
    else:
        assert work_out(again, values) == value
        # The language of rules writes powers as ^. Apart from that, its operator precedence is that of Python.
        if "if(" not in text:
            assert value == pytest.approx(eval(text, {"min": min, **values}))


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        parse(text)
    except FormulaError as error:
        assert 0 <= error.position <= len(text)
