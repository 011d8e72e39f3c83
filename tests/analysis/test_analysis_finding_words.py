"""Findings: decided claims with their measured values in words."""

from __future__ import annotations

from typing import Any

import pytest
from judged_studies import claim, estimate

from towtank.analysis.claims.verdicts import ClaimVerdict, JudgedClaims
from towtank.analysis.conclusion.finding_words import finding, named_value
from towtank.analysis.conclusion.quantity_words import quantity_words

FACTOR = estimate(11.0, 5.0, 26.0)


def read(says: str, verdict: str = "confirmed", **more: Any) -> ClaimVerdict:
    return JudgedClaims.read({"claims": [claim(says, verdict, **more)]}).claims[0]


def ratio(of: str) -> dict[str, Any]:
    return {"ratio": {"of": of, "at": {"index": "absent"}, "to": {"index": "present"}}}


@pytest.mark.parametrize(
    ("says", "of", "words"),
    [
        ("Without it this takes many times as long.", "mean",
         "Without it this takes 11 (5 to 26) times as long, measured as mean response time"),
        ("It answers more than ten times later.", "mean",
         "It answers 11 (5 to 26) times later, measured as mean response time"),
        (
            "A scan of ten times the rows takes about ten times as long.",
            "mean",
            "A scan of ten times the rows takes 11 (5 to 26) times as long, measured as mean response time",
        ),
        ("It uses three to five times the CPU.", "tiers.db.cpus_used",
         "It uses 11 (5 to 26) times the CPU, measured as CPU use of db"),
        (
            "It costs the server more than twice the CPU time.",
            "tiers.db.cpu_demand_s",
            "It costs the server 11 (5 to 26) times the CPU time, measured as CPU time per transaction of db",
        ),
        ("Four carry four times the operations.", "throughput",
         "Four carry 11 (5 to 26) times the operations, measured as throughput"),
        # The factor of these claims is not the measured one.
        ("On a disk twice as large it takes longer.", "mean", "On a disk twice as large it takes longer: mean "
         "response time 11 (5 to 26) times as long"),
        ("It takes twice as much memory.", "mean", "It takes twice as much memory: mean response time 11 (5 to 26) "
         "times as long"),
    ],
)  # fmt: skip
def test_a_factor_takes_the_place_of_its_words(says: str, of: str, words: str) -> None:
    assert finding(read(says, holds="> 1.5", measured=FACTOR, measure=ratio(of))) == words


@pytest.mark.parametrize(
    ("measured", "holds", "words"),
    [
        (estimate(1.28, 1.16, 1.41), "> 1.1", "x: throughput 28 (16 to 41) % higher than with `index = present`"),
        (estimate(0.47, 0.25, 0.89), "< 0.9", "x: throughput 53 (11 to 75) % lower than with `index = present`"),
        (estimate(0.98, 0.89, 1.06), "< 1.2", "x: throughput is 98 (89 to 106) % of that with `index = present`"),
        (estimate(4.0, 3.5, 4.5), "> 3", "x: throughput 4.0 (3.5 to 4.5) times as high"),
    ],
)
def test_a_ratio_is_a_change_in_words(measured: dict[str, Any], holds: str, words: str) -> None:
    assert finding(read("x", holds=holds, measured=measured, measure=ratio("throughput"))) == words


@pytest.mark.parametrize(
    ("given", "measured", "unit", "words"),
    [
        ({"of": "stored.lost"}, estimate(0.0, 0.0, 0.0), "", "x: 0 lost objects"),
        ({"of": "errors of add"}, estimate(0.85, 0.79, 0.91), "", "x: 85 (79 to 91) % of add transactions failed"),
        ({"of": "errors of add"}, estimate(0.0, 0.0, 0.0054), "", "x: no add transaction failed (at most 0.54 %)"),
        ({"of": "errors of add"}, estimate(0.0, 0.0, 0.0), "", "x: no add transaction failed"),
        ({"of": "errors"}, estimate(0.85, 0.79, 0.91), "", "x: 85 (79 to 91) % of transactions failed"),
        ({"of": "mean"}, estimate(0.2, 0.08, 0.32), "s", "x: mean response time is 200 (80 to 320) ms"),
        ({"of": "events.disk_filled.during.throughput_per_s", "per": "throughput"}, estimate(0.9, 0.5, 1.3), "",
         "x: throughput while disk was filled was 90 (50 to 130) % of its average"),
        ({"of": "events.node_restarted.during.throughput_per_s", "per": "throughput"}, estimate(1.08, 1.05, 1.12),
         "", "x: throughput did not fall while node was restarted, it was 108.0 (105.0 to 112.0) % of its average"),
        # The interval has no visible width, so the value has no more digits than a rounded one.
        ({"of": "events.database_restarted.recovery_s"}, estimate(7.798433, 7.79832, 7.79855), "s",
         "x: recovery time after database was restarted is 7.8 s"),
    ],
)  # fmt: skip
def test_a_value_has_words_and_a_unit(given: dict[str, Any], measured: dict[str, Any], unit: str, words: str) -> None:
    assert finding(read("x", holds="> 0", unit=unit, measured=measured, measure={"value": given})) == words


def test_an_unknown_quantity_keeps_its_name() -> None:
    assert quantity_words("what is this") == "what is this"


def test_a_refuted_claim_is_quoted_with_what_was_expected_in_the_unit_of_the_value() -> None:
    assert finding(read("It serves less.", "refuted", holds="between 0.7 and 0.9")) == (
        "Refuted: “It serves less”: measured throughput rises to 128 (116 to 141) % of that with `settings = default`, "
        "expected between 70 and 90 %"
    )
    slow = read("It takes twice as long.", "refuted", holds="> 2", measured=estimate(1.79, 1.65, 1.94),
                measure=ratio("mean"))  # fmt: skip
    assert finding(slow) == (
        "Refuted: “It takes twice as long”: measured mean response time 1.79 (1.65 to 1.94) times as long, expected > 2"
    )


def test_a_change_has_both_values_unless_the_sentence_becomes_long() -> None:
    sides = [estimate(139.1, 131.0, 147.2), estimate(107.8, 104.7, 110.9)]
    assert finding(read("It serves more.", compared=sides)) == (
        "It serves more: throughput 28 (16 to 41) % higher than with `settings = default`, 139 /s against 108 /s"
    )
    assert "against" not in finding(read(f"It serves {'much ' * 60}more.", compared=sides))


def test_the_highest_and_the_lowest_level_have_their_values_and_those_of_the_next() -> None:
    levels = [
        {"level": level, "measured": estimate(value, value - 10, value + 10)}
        for level, value in (("bridge", 3690.0), ("tun", 210.0), ("no_offloads", 840.0))
    ]
    lowest = {"lowest": {"of": "throughput", "over": "link"}}
    made = {"measure": lowest, "measured": None, "found": "tun", "levels": levels, "unit": "/s"}
    assert finding(read("A relay is slowest.", **made)) == (
        "A relay is slowest: throughput 210 (200 to 220) /s with `link = tun`, next 840 (830 to 850) /s with "
        "`link = no_offloads`"
    )
    assert finding(read("A relay is slowest.", **{**made, "levels": levels[1:2]})).endswith(
        "throughput 210 (200 to 220) /s with `link = tun`"
    )
    assert finding(read("A relay is slowest.", **{**made, "levels": []})) == (
        "A relay is slowest: lowest throughput with `link = tun`"
    )


def test_a_factor_in_a_claim_has_its_quantity_with_both_values() -> None:
    sides = [estimate(2.3, 2.0, 2.6), estimate(0.2, 0.1, 0.3)]
    made = {"holds": "> 1.5", "measured": FACTOR, "measure": ratio("mean"), "compared": sides}
    assert finding(read("Without it this takes many times as long.", **made)) == (
        "Without it this takes 11 (5 to 26) times as long: mean response time 2.3 s against 200 ms"
    )
    named = read("The throughput rises.", measured=estimate(1.28, 1.16, 1.41), measure=ratio("throughput"))
    assert finding(named) == "The throughput rises: 28 (16 to 41) % higher than with `index = present`"
    reduced = read("They reduce the response time.", holds="< 0.7", measured=estimate(0.11, 0.07, 0.17),
                   measure=ratio("mean"), compared=[estimate(0.0466), estimate(0.417)])  # fmt: skip
    assert finding(reduced) == (
        "They reduce the response time: mean response time 89 (83 to 93) % lower than with `index = present`, 46.6 ms "
        "against 417 ms"
    )


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ({"value": 158.57}, "159 times as long as at the first level"),
        ({"value": 4.0, "low": 3.5, "high": 4.5}, "4.0 (3.5 to 4.5) times as long as at the first level"),
        ({"value": 0.47, "low": 0.25, "high": 0.89}, "47 (25 to 89) % of that at the first level"),
    ],
)
def test_the_value_of_a_trend_is_a_ratio_and_has_not_the_unit_of_its_quantity(
    measured: dict[str, float], words: str
) -> None:
    trend = {"trend": {"of": "mean", "over": "users", "at": {"index": "present"}}}
    found = read("Response times grow.", "undecided", measure=trend, measured=measured, unit="s", holds="rises")
    assert named_value(found) == f"mean response time {words}"
