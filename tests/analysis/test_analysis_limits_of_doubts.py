"""A value at its limit raises no doubt. A value above its limit raises a doubt of the right level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from towtank.analysis import laws
from towtank.analysis.checks import answers, course, coverage, generator, limits, machine, network, window
from towtank.analysis.doubts import DoubtLevel
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.system.entries import OtherPrograms, TierUse
from towtank.analysis.user_groups import UserGroup
from towtank.documents import document_of, record_of
from towtank.results import TotalsForm

NOTE, SUSPECT, INVALID = DoubtLevel.NOTE, DoubtLevel.SUSPECT, DoubtLevel.INVALID
ABOVE = 1.001


def evidence(summary: dict[str, Any] | None = None, **more: Any) -> Any:
    """Return evidence with a window of ten seconds and the default limits."""
    shown = SimpleNamespace(start_s=0.0, end_s=10.0, length_s=10.0, steady=True)
    given = {
        "window": shown,
        "limit": lambda _name, default: default,
        "summary": RunSummary.read(summary or {}),
        **more,
    }
    return SimpleNamespace(**given)


def levels(check: Callable[[Any], Any], found: Any) -> list[DoubtLevel]:
    return [doubt.level for doubt in check(found)]


def host(**more: Any) -> dict[str, Any]:
    return {"steal": None, "foreign_share": None, "pace": None, "throttled": {}, **more}


def of_host(**more: Any) -> Any:
    summary = {"host": host(**more), "hosts": {}, "other_programs": None}
    return evidence(summary, observed=SimpleNamespace(remote={}))


@pytest.mark.parametrize(
    ("share", "expected"),
    [(None, []), (0.02, []), (0.02 * ABOVE, [SUSPECT]), (0.10, [SUSPECT]), (0.10 * ABOVE, [INVALID])],
)
def test_stolen_time(share: float | None, expected: list[DoubtLevel]) -> None:
    assert levels(machine.steal, of_host(steal=share)) == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [(None, []), (0.10, []), (0.10 * ABOVE, [SUSPECT]), (0.25, [SUSPECT]), (0.25 * ABOVE, [INVALID])],
)
def test_other_programs_on_the_cpus_of_the_system(share: float | None, expected: list[DoubtLevel]) -> None:
    assert levels(machine.interference, of_host(foreign_share=share)) == expected


def test_a_study_may_allow_more_than_makes_a_run_invalid() -> None:
    assert machine._foreign_level(0.4, 0.4) is SUSPECT
    assert machine._foreign_level(0.4 * ABOVE, 0.4) is INVALID


@pytest.mark.parametrize(
    ("used", "not_found", "expected"),
    [(0.4, [], []), (0.41, [], [SUSPECT]), (1.1, [], [INVALID]), (1.1, ["db"], [SUSPECT]), (None, [], [])],
)
def test_other_programs_beside_a_target(used: float | None, not_found: list[str], expected: list[DoubtLevel]) -> None:
    others = {"cpus_used": {"value": used}, "cpus": 4, "not_found": not_found}
    found = evidence({"other_programs": others})
    assert levels(lambda given: machine._beside_targets(given, 0.10), found) == expected


@pytest.mark.parametrize(
    ("used", "interrupts", "expected"),
    [(0.2, 0.0, []), (0.21, 0.0, [SUSPECT]), (0.21, 0.01, []), (0.21, None, [SUSPECT]), (1.1, 0.0, [INVALID])],
)
def test_cpu_time_of_no_tier(used: float, interrupts: float | None, expected: list[DoubtLevel]) -> None:
    usage = {"cpus_used": {"value": used}, "cpus": 4, "interrupts_cpus_used": interrupts}
    found = evidence({"other_programs": None, "not_attributed": {"far": usage}, "tiers": {}})
    assert levels(machine.attributed, found) == expected


@pytest.mark.parametrize(("cpus", "named"), [(0.0049, True), (0.005, False), (None, False)])
def test_a_tier_that_uses_no_cpu_may_be_a_launcher(cpus: float | None, named: bool) -> None:
    found = evidence({"tiers": {"app": {"cpus_used": {"value": cpus}}}})
    assert ("app used hardly any CPU time" in machine._idle(found)) is named


def events(*ahead_s: float) -> list[dict[str, int]]:
    return [{"boot_ns": round(1e9 * ahead) + 5, "t_ns": 5} for ahead in ahead_s]


@pytest.mark.parametrize(
    ("ahead", "slept", "expected"),
    [((), 0.0, []), ((3.0, 3.1), 0.1, []), ((3.0, 3.2, 3.1), 0.2, [SUSPECT]), ((3.0,), 0.0, [])],
)
def test_a_machine_that_slept(ahead: tuple[float, ...], slept: float, expected: list[DoubtLevel]) -> None:
    found = evidence(events=[*events(*ahead), {"boot_ns": 1}, {"t_ns": 1}])
    assert machine.slept_s(found) == pytest.approx(slept)
    assert levels(machine.suspended, found) == expected


@pytest.mark.parametrize(
    ("share", "slept", "expected"),
    [(1.0, 0.0, []), (ABOVE, 0.0, [NOTE]), (2.0, 1.5, []), (3.0, 1.0, [NOTE]), (-3.0, 0.0, [])],
)
def test_a_clock_that_jumped(share: float, slept: float, expected: list[DoubtLevel]) -> None:
    jump = share * machine.CLOCK_JUMP_S
    samples = SimpleNamespace(clock_jump=lambda: jump)
    away = events(0.0, slept * machine.CLOCK_JUMP_S)
    assert levels(machine.clock, evidence(events=away, observed=SimpleNamespace(samples=samples))) == expected


@pytest.mark.parametrize(("spread", "expected"), [(0.10, []), (0.10 * ABOVE, [NOTE])])
def test_a_machine_whose_speed_changes(spread: float, expected: list[DoubtLevel]) -> None:
    pace = {"spread": spread, "fast_s": 0.008, "slow_s": 0.01}
    assert levels(machine.speed, of_host(pace=pace)) == expected
    for doubt in machine.speed(of_host(pace=pace)):
        assert "ran 20.0 % slower" in doubt.message or "ran 20 % slower" in doubt.message


@pytest.mark.parametrize(
    ("name", "share", "expected"),
    [
        ("generator", 0.01, []),
        ("generator", 0.01 * ABOVE, [SUSPECT]),
        ("generator", 0.10, [SUSPECT]),
        ("generator", 0.10 * ABOVE, [INVALID]),
        ("app", 0.5, [NOTE]),
    ],
)
def test_a_throttled_group(name: str, share: float, expected: list[DoubtLevel]) -> None:
    assert levels(machine.throttled, of_host(throttled={name: share})) == expected


@pytest.mark.parametrize(
    ("system", "cpus", "kind", "doubted"),
    [
        ([0], [1], "x", False),
        ([0, 1], [1], "x", True),
        ([], [1], "x", True),
        ([0], [], "x", True),
        ([], [], "process", False),
    ],
)
def test_generator_and_system_on_the_same_cpus(system: list[int], cpus: list[int], kind: str, doubted: bool) -> None:
    observed = SimpleNamespace(tiers={"app": {"kind": kind}})
    found = evidence(manifest={"pinning": {"system": system, "generator": cpus}}, observed=observed)
    assert bool(levels(machine.pinned, found)) is doubted


def generated(**figures: Any) -> Any:
    return evidence({"generator": figures}, is_open=False, generator_cores=2, connect_failures=1)


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.01, [NOTE]), (0.01 * ABOVE, [SUSPECT]), (0.10, [SUSPECT]), (0.10 * ABOVE, [INVALID]), (0.0, []), (None, [])],
)
def test_stalls_of_the_generator(share: float | None, expected: list[DoubtLevel]) -> None:
    stalled = None if share is None else 10.0 * share
    found = generated(stalled_s=stalled, longest_gap_s=0.1, long_stalls=[])
    assert levels(generator.stalled, found) == expected


def test_a_long_stall_outside_the_window_is_a_note() -> None:
    stalls = [{"start_s": 1.0, "end_s": 3.0}, {"start_s": 5.0, "end_s": 6.0}]
    (doubt,) = generator.stalled(generated(stalled_s=0.0, long_stalls=stalls))
    assert (doubt.level, doubt.seen) == (NOTE, 2.0)


@pytest.mark.parametrize(
    ("surplus", "unasked", "expected"),
    [(0, 0, []), (5, 0, [SUSPECT]), (0, 10, [SUSPECT]), (0, 11, [INVALID]), (500, 1, [SUSPECT])],
)
def test_bytes_that_nobody_asked_for(surplus: int, unasked: int, expected: list[DoubtLevel]) -> None:
    summary = {
        "connections": {"surplus": surplus, "unasked": unasked},
        "generator": {"requests_started_per_s": 100.0},
    }
    found = list(generator.framing(evidence(summary)))
    assert [doubt.level for doubt in found] == expected
    if unasked == 10:
        assert "1 % of the requests" in found[0].message or "1.0 % of the requests" in found[0].message


@pytest.mark.parametrize(
    ("opened", "users", "doubted"), [(500, 10, False), (501, 10, True), (501, 250, True), (501, 251, False)]
)
def test_connections_that_are_not_reused(opened: int, users: int, doubted: bool) -> None:
    summary = {
        "connections": {"opened": opened},
        "generator": {"requests_started_per_s": 100.0, "connections_at_most": users},
    }
    assert bool(levels(generator.reconnects, evidence(summary, keeps_connections=True))) is doubted
    assert levels(generator.reconnects, evidence(summary, keeps_connections=False)) == []


@pytest.mark.parametrize(("beyond", "level"), [(0, NOTE), (1, SUSPECT)])
def test_arrivals_that_were_not_started(beyond: int, level: DoubtLevel) -> None:
    count = round(generator.OVERFLOW_SHARE * 10_000) + beyond
    accounting = laws.accounting(TotalsForm(not_started={"overflow": count}, offered=10_000))
    assert levels(generator.overflow, evidence({"accounting": document_of(accounting)})) == [level]
    assert levels(generator.overflow, evidence({"accounting": document_of(laws.accounting(TotalsForm()))})) == []


@pytest.mark.parametrize(("factor", "doubted"), [(1.0, False), (ABOVE, True)])
def test_shares_of_the_generator(factor: float, doubted: bool) -> None:
    share = factor * generator.ENVELOPE_SHARE
    found = generated(envelope_share=share, requests_started_per_s=1.0, envelope_per_s=2.0)
    assert bool(levels(generator.envelope, found)) is doubted
    waits = {
        "share_of_response_time": factor * generator.CONNECTION_WAIT_SHARE, "share_waited": 0.1, "mean": 0.1,
    }  # fmt: skip
    assert bool(levels(generator.pool, evidence({"connections": {"wait_time_s": waits}}))) is doubted
    used = factor * generator._CONNECTIONS_SHARE * 1e6
    figures = {"limits": {"open_files": 1e6, "connections_by_ports": None}, "connections_at_most": round(used)}
    assert bool(levels(generator.connections, generated(**figures))) is doubted


LAGS: dict[str, Any] = {
    "start_lag_p99_s": None, "start_lag_share": None, "start_lag_share_p99": None, "start_lag_most": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "limit", "serious"),
    [
        ("start_lag_p99_s", generator.START_LAG_CLOSED_S, generator._LAG_INVALID * generator.START_LAG_CLOSED_S),
        ("start_lag_share", generator.START_LAG_SHARE, generator._LAG_SHARE_INVALID),
        ("start_lag_share_p99", generator.START_LAG_SHARE, generator._LAG_SHARE_INVALID),
    ],
)
def test_requests_that_start_late(key: str, limit: float, serious: float) -> None:
    cases = ((limit, []), (limit * ABOVE, [SUSPECT]), (serious, [SUSPECT]), (serious * ABOVE, [INVALID]))
    for value, expected in cases:
        assert levels(generator.start_lag, generated(**{**LAGS, key: value})) == expected, value


def test_a_single_step_that_starts_late_is_a_note() -> None:
    for factor, expected in ((1.0, []), (ABOVE, [NOTE])):
        most = {"share": factor * generator.START_LAG_SHARE, "step": "read"}
        assert levels(generator.start_lag, generated(**{**LAGS, "start_lag_most": most})) == expected


@pytest.mark.parametrize(("factor", "doubted"), [(0.999, False), (1.0, True)])
def test_a_resource_of_the_kernel_that_is_used_up(factor: float, doubted: bool) -> None:
    nothing = {"most": None, "limit": None, "known": True}
    most = {"most": factor * limits.EXHAUSTED_SHARE * 1000, "limit": 1000, "known": True}
    tier = {
        "kind": "x",
        "limits": {**dict.fromkeys(("threads", "control_group", "ports"), nothing), "open_files": most},
    }
    assert bool(levels(limits.exhausted, evidence({"tiers": {"app": tier}}))) is doubted


@pytest.mark.parametrize(
    ("again", "needless", "waits", "expected"),
    [
        (1.0, None, None, []),
        (1.1, None, None, [SUSPECT]),
        (1.1, 0.1, None, [NOTE]),
        (5.0, 3.9, None, [SUSPECT]),
        (5.0, None, (0.5, 0.5), [NOTE]),
        (5.0, None, (0.5, 0.6), [SUSPECT]),
        (0.0, None, None, []),
    ],
)
def test_segments_that_were_sent_again(
    again: float, needless: float | None, waits: tuple[float, float] | None, expected: list[DoubtLevel]
) -> None:
    counts: dict[str, float | None] = {"retransmits": again, "needless_retransmits": needless}
    if waits is not None:
        counts |= {"timeouts": waits[0], "probe_recoveries": waits[1]}
    networks = [network.Counted("here", counts)]
    assert [doubt.level for doubt in network.retransmitted(networks, 1000.0, asked=False)] == expected
    for doubt in network.retransmitted(networks, 1000.0, asked=True):
        assert doubt.level is NOTE


@pytest.mark.parametrize(("redirects", "expected"), [(50, []), (51, [SUSPECT]), (100, [SUSPECT])])
def test_answers_that_are_redirects(redirects: int, expected: list[DoubtLevel]) -> None:
    steps = {"a": {"status_codes": {"302": redirects, "200": 100 - redirects}}}
    found = evidence(
        {"steps": steps, "transactions": {"a": steps["a"]}},
        redirects_expected=frozenset(),
        steps_by_transaction={"a": ["a"]},
    )
    assert levels(answers.redirected, found) == expected
    found.redirects_expected = frozenset({"a"})
    assert levels(answers.redirected, found) == []


@pytest.mark.parametrize(
    ("worth", "half_width", "expected"),
    [(30.0, None, []), (29.9, None, [SUSPECT]), (29.9, 0.10, [NOTE]), (29.9, 0.11, [SUSPECT])],
)
def test_independent_values(worth: float, half_width: float | None, expected: list[DoubtLevel]) -> None:
    found = evidence(timed=10_000, effective_samples=worth, relative_half_width=half_width)
    assert levels(window.samples, found) == expected
    found.timed = 9999
    assert levels(window.samples, found) == [*expected, NOTE]


@pytest.mark.parametrize(
    ("tier", "relaxation_s"),
    [
        ((0.5, 2.0, 4), 1.5 * 0.02 / (4 * 0.25)),
        ((0.5, 50.0, 4), 1.5 * 0.1 / (4 * 0.25)),
        ((0.0, 2.0, 4), 0.0),
        ((1.0, 2.0, 4), 0.0),
        ((None, 2.0, 4), 0.0),
        ((0.5, None, 4), 0.0),
        ((0.5, 2.0, None), 0.0),
    ],
)
def test_the_relaxation_time_of_a_queue(
    tier: tuple[float | None, float | None, int | None], relaxation_s: float
) -> None:
    busy, used, cpus = tier
    found = {"utilization": busy, "cpus_used": {"value": used}, "cpus_allotted": cpus}
    assert window._relaxation_s(record_of(TierUse, found), 100.0, 0.1) == pytest.approx(relaxation_s)


@pytest.mark.parametrize(("relaxations", "expected"), [(41.0, []), (39.9, [NOTE]), (10.1, [NOTE]), (9.9, [SUSPECT])])
def test_a_window_in_relaxation_times(relaxations: float, expected: list[DoubtLevel]) -> None:
    # With a utilization of 1/2 and one server, the relaxation time is 6 S. So a window of 10 s lasts 10 / (6 S)
    # relaxation times.
    service_s = 10.0 / (6 * relaxations)
    tier = {"utilization": 0.5, "cpus_used": {"value": 100 * service_s}, "cpus_allotted": 1}
    summary = {"request_throughput_per_s": {"value": 100.0}, "tiers": {"app": tier}}
    assert levels(window.memory, evidence(summary, is_open=True)) == expected
    assert levels(window.memory, evidence(summary, is_open=False)) == []


@pytest.mark.parametrize(
    ("users", "fixed", "keeps"), [(10.2, True, True), (10.3, True, False), (9.0, True, True), (9.0, False, False)]
)
def test_a_constant_pace(users: float, fixed: bool, keeps: bool) -> None:
    group = UserGroup(("readers",), users, 5.0, 0.1, 2.0, fixed)
    assert window._keeps_a_fixed_pace(group) is keeps
    assert not window._keeps_a_fixed_pace(replace(group, throughput_per_s=0.0))


@pytest.mark.parametrize(("slow", "doubted"), [(4, False), (5, True)])
def test_seconds_of_a_pause(slow: int, doubted: bool) -> None:
    pauses = {"slow": slow, "limit": 5, "seconds": 60, "slow_mean_s": 1.0, "other_mean_s": 0.1, "apart_s": 10.0}
    assert bool(levels(window.pauses, evidence({"pauses": pauses}))) is doubted
    assert levels(window.pauses, evidence({"pauses": None})) == []


@pytest.mark.parametrize(("recorded", "doubted"), [(98.0, False), (97.9, True)])
def test_a_stage_that_was_cut_short(recorded: float, doubted: bool) -> None:
    shown = SimpleNamespace(
        changes=(), growth=None, steps=(), planned_end_s=110.0, asked_start_s=10.0, asked_end_s=10.0 + recorded
    )
    assert bool(levels(window.steady, evidence(window=shown))) is doubted


def test_a_growing_backlog_far_beyond_its_tolerance_is_invalid() -> None:
    for factor, level in ((1.0, SUSPECT), (ABOVE, INVALID)):
        growth = SimpleNamespace(is_significant=True, share=factor * window.GROSS * window.TOLERANCE, text="backlog")
        shown = SimpleNamespace(
            changes=(), growth=growth, steps=(), planned_end_s=1.0, asked_start_s=0.0, asked_end_s=1.0
        )
        assert levels(window.steady, evidence(window=shown)) == [level]


@pytest.mark.parametrize(("length", "rounded"), [(10.0, 10.0), (10.1, 20.0), (0.0, 0.0)])
def test_an_advised_length_is_a_multiple_of_ten_seconds(length: float, rounded: float) -> None:
    assert window._round_up(length) == rounded


def test_the_limits_are_those_of_the_documentation() -> None:
    found = (generator.GENERATOR_BUSY, generator.OVERFLOW_SHARE, generator.ENVELOPE_SHARE, generator.START_LAG_SHARE)
    assert found == (0.85, 0.001, 0.80, 0.05)
    assert (generator.START_LAG_OPEN_S, generator.START_LAG_CLOSED_S) == (0.001, 0.010)
    assert (generator.RECONNECTS_SHARE, generator.CONNECTION_WAIT_SHARE) == (0.5, 0.05)
    assert (machine.CLOCK_JUMP_S, limits.EXHAUSTED_SHARE) == (0.5, 0.95)


@pytest.mark.parametrize(
    ("share", "transactions", "doubted"),
    [(0.001, 2, True), (0.5, 2, True), (0.001, 1, True), (0.5, 1, False)],
)
def test_the_only_transaction_is_not_doubted_twice(share: float, transactions: int, doubted: bool) -> None:
    failing = {"errors": 50, "count": 50}
    names = dict.fromkeys([f"t{number}" for number in range(transactions)], failing)
    summary = {"errors": {"share": share}, "unfinished": None, "transactions": names, "steps": {}, "requests": {}}
    found = evidence(summary, steps_by_transaction={})
    assert any("transaction t0" in doubt.message for doubt in course.errors_by_part(found)) is doubted


@pytest.mark.parametrize(
    ("failed", "ended", "limit", "beyond"),
    [(1, 100, 0.01, False), (2, 100, 0.01, False), (10, 100, 0.01, True), (5, 5, 1.0, False), (0, 100, 0.0, False)],
)
def test_failures_beyond_chance(failed: int, ended: int, limit: float, beyond: bool) -> None:
    assert course._beyond_chance(failed, ended, limit) is beyond


def test_other_programs_are_known_if_they_were_measured_and_the_target_was_found() -> None:
    assert coverage._others_known(OtherPrograms(Estimate(0.1)))
    assert not coverage._others_known(OtherPrograms(Estimate(None)))
    assert not coverage._others_known(OtherPrograms(Estimate(0.1), not_found=("db",)))
    assert not coverage._others_known(None)


@pytest.mark.parametrize(
    ("times", "gap", "unobserved"),
    [
        ((0.5, 9.5), 5.0, False),
        ((0.5, 9.5), 5.01, True),
        ((0.51, 9.5), 1.0, True),
        ((0.5, 9.49), 1.0, True),
        ((-5.0, 30.0), 1.0, False),
        ((), 0.0, True),
    ],
)
def test_samples_up_to_half_a_second_from_both_ends_and_less_than_half_apart(
    times: tuple[float, ...], gap: float, unobserved: bool
) -> None:
    samples = SimpleNamespace(times_s=list(times), longest_gap=lambda _start, _end: gap)
    found = evidence(observed=SimpleNamespace(samples=samples, probe=SimpleNamespace(header={})))
    assert coverage._is_unobserved(found) is unobserved
    found.window = None
    assert coverage._is_unobserved(found) is False
