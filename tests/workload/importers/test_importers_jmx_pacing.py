"""Throughput timers of JMeter, which apply to a thread, a group, or all groups.

Expected times follow from ConstantThroughputTimer and PreciseThroughputTimer of JMeter 5.5: the time between two
samples of a thread is the number of threads that share the throughput, divided by the throughput.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from jmeter_plans import element, request

from towtank.errors import StudyError

Importer = Callable[..., Any]
CONSTANT, PRECISE = "ConstantThroughputTimer", "PreciseThroughputTimer"


def threads(name: str, users: int, below: str) -> str:
    number = f'<stringProp name="ThreadGroup.num_threads">{users}</stringProp>'
    return f'<ThreadGroup testname="{name}">{number}</ThreadGroup><hashTree>{below}</hashTree>'


def plan(*below: str) -> str:
    inner = f'<TestPlan testname="P"/><hashTree>{"".join(below)}</hashTree>'
    return f"<jmeterTestPlan><hashTree>{inner}</hashTree></jmeterTestPlan>"


def pacings(found: Any) -> dict[str, str | None]:
    return {name: group["loop"].get("pacing") for name, group in found.workload["groups"].items()}


def timer(mode: object, rate: int = 600) -> str:
    return element(CONSTANT, throughput=str(rate), calcMode=str(mode))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (0, ("100 ms", "300 ms")),
        (1, ("4 s", "12 s")),
        (2, ("1 s", "9 s")),
        (3, ("4 s", "12 s")),
        (4, ("1 s", "9 s")),
        ("all active threads", ("4 s", "12 s")),
        ("all active threads in current thread group (shared)", ("1 s", "9 s")),
        ("${__P(mode,2)}", ("1 s", "9 s")),
        ("${__P(mode)}", ("4 s", "12 s")),
        ("${__P(mode,)}", ("100 ms", "300 ms")),
        ("alle Threads", ("100 ms", "300 ms")),
    ],
)
def test_a_throughput_for_several_groups_is_shared_as_its_mode_says(
    mode: object, expected: tuple[str, str], import_text: Importer
) -> None:
    """A timer sets 10 samples/s for two groups: 10 threads with 1 sampler a round, and 30 threads with 3 samplers a
    round.

    The time between two samples of a thread is 1 / 10 s if each thread has this rate, and 40 / 10 s if all 40 threads
    share it. If the threads of each group share it, the time is 10 / 10 s in the first and 30 / 10 s in the second.
    """
    found = import_text(
        "jmx",
        plan(
            timer(mode),
            threads("a", 10, request("/a")),
            threads("b", 30, request("/1") + request("/2") + request("/3")),
        ),
    )
    assert pacings(found) == {"a": expected[0], "b": expected[1]}
    assert bool([why for _, _, why in found.notes() if "calcMode" in why]) == (mode == "alle Threads")


@pytest.mark.parametrize(("mode", "expected"), [(1, "4 s"), (2, "1 s"), (3, "1 s"), (4, "1 s")])
def test_groups_without_the_timer_share_it_in_one_mode_only(mode: int, expected: str, import_text: Importer) -> None:
    """In the mode "all active threads", JMeter also counts threads without the timer.

    In the other modes, only threads with the timer share the throughput.
    """
    given = plan(threads("a", 10, timer(mode) + request("/a")), threads("b", 30, request("/b")))
    assert pacings(import_text("jmx", given)) == {"a": expected, "b": None}


def test_threads_of_a_group_that_is_left_out_share_a_throughput(import_text: Importer) -> None:
    given = plan(
        timer(1),
        threads("a", 10, request("/a")),
        threads("b", 30, element("JavaSampler")),
        threads("c", 50, request("/c")).replace("<ThreadGroup ", '<ThreadGroup enabled="false" ', 1),
    )
    assert pacings(import_text("jmx", given)) == {"a": "4 s"}


def test_a_shared_schedule_gives_each_thread_one_turn(import_text: Importer) -> None:
    """The shared schedule serves 10 threads with intervals of 0.1 s, and then 30 threads with intervals of 0.2 s.

    So after 10 x 0.1 s + 30 x 0.2 s = 7 s, each thread has made one request. A round of group `b` has two requests, so
    it takes 14 s.
    """
    given = plan(
        threads("a", 10, timer(3) + request("/a")),
        threads("b", 30, timer(3, 300) + request("/b") + request("/c")),
    )
    assert pacings(import_text("jmx", given)) == {"a": "7 s", "b": "14 s"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (timer(0, 60), timer(0, 20), "3 s"),
        (timer(2, 60), timer(0, 20), "10 s"),
        (timer(4, 60), timer(4, 60), "20 s"),
        (element(PRECISE, throughput="60", throughputPeriod="60"), element(PRECISE, throughput="9"), "20 s"),
    ],
)
def test_the_slowest_timer_of_a_round_paces_it(first: str, second: str, expected: str, import_text: Importer) -> None:
    """Independent timers of a round run at the same time, so the slowest determines the pacing. If timers share a
    schedule, their times are added.
    """
    given = plan(threads("a", 10, request("/a", first) + request("/b", second)))
    assert pacings(import_text("jmx", given)) == {"a": expected}


def test_a_precise_throughput_is_that_of_each_group(import_text: Importer) -> None:
    given = plan(element(PRECISE, throughput="36000"), threads("a", 10, request("/a")), threads("b", 30, request("/b")))
    assert pacings(import_text("jmx", given)) == {"a": "1 s", "b": "3 s"}
    given = plan(threads("a", 10, element(PRECISE) + request("/a")))
    assert pacings(import_text("jmx", given)) == {"a": "6 min"}


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        (element("LoopController", request("/b"), LoopController__loops="3"), "4 s"),
        (
            element(
                "ThroughputController",
                request("/b"),
                ThroughputController__style="1",
                ThroughputController__percentThroughput="50",
            ),
            "1.5 s",
        ),
        (element("RandomController", request("/b") + request("/c")), "2 s"),
        (element("OnceOnlyController", request("/b")), "1 s"),
    ],
)
def test_samplers_count_as_often_as_a_round_has_them(below: str, expected: str, import_text: Importer) -> None:
    given = plan(threads("a", 10, timer(0, 60) + request("/a") + below))
    assert pacings(import_text("jmx", given)) == {"a": expected}


def test_a_pacing_of_parts_of_a_millisecond_is_kept(import_text: Importer) -> None:
    """At 24,000 samples per minute, the interval is 60 s / 24,000 = 2.5 ms."""
    found = import_text("jmx", plan(threads("a", 3, timer(0, 24_000) + request("/a"))))
    assert pacings(found) == {"a": "2.5 ms"}


@pytest.mark.parametrize("users", [0, -2])
def test_a_group_without_threads_is_left_out_of_the_others(users: int, import_text: Importer) -> None:
    """10 threads run: one group has 4, another has 6. A third group has none, so it gets no share of the throughput."""
    given = [threads("idle", users, request("/i")), threads("a", 4, timer(1) + request("/a"))]
    found = import_text("jmx", plan(*given, threads("b", 6, request("/b"))))
    assert {name: group["share"] for name, group in found.workload["groups"].items()} == {"a": "40 %", "b": "60 %"}
    assert pacings(found)["a"] == "1 s"
    assert (1, "ThreadGroup 'idle'", f"left out: it has {users} threads and does nothing") in found.notes()


def test_a_plan_whose_groups_all_do_nothing_is_refused_with_the_reasons(import_text: Importer) -> None:
    off = threads("off", 3, request("/o")).replace("<ThreadGroup", '<ThreadGroup enabled="false"', 1)
    with pytest.raises(StudyError, match=r"got none(.|\n)*'idle'.*0 threads(.|\n)*'off'.*disabled"):
        import_text("jmx", plan(threads("idle", 0, request("/i")), off))


@pytest.mark.parametrize(
    ("number", "why"),
    [
        ("${__P(users,)}", "is not known before the run (${__P(users,)}): 1 is used"),
        ("${users}", "is not known before the run (${users}): 1 is used"),
        ("1e12", "is no number below 1e+12 (1e12): 1 is used"),
        ("NaN", "is no number below 1e+12 (NaN): 1 is used"),
    ],
)
def test_a_number_of_threads_that_is_not_known_is_noted(number: str, why: str, import_text: Importer) -> None:
    given = threads("a", 7, request("/a")).replace(">7<", f">{number}<")
    found = import_text("jmx", plan(given, threads("b", 3, request("/b"))))
    assert [reason for _, what, reason in found.notes() if what == "users of 'a'"] == [why]
    assert found.workload["groups"]["a"]["share"] == "25 %"


def test_groups_of_plugins_have_the_users_of_their_rows(import_text: Importer) -> None:
    """Thread groups of plugins state their number of users in different ways.

    For an UltimateThreadGroup, it is the sum of the first column of its rows, here 50 + 20. For a
    ConcurrencyThreadGroup, it is the target level. An OpenModelThreadGroup states no number, so one thread is assumed.
    """
    rows = "".join(
        f'<collectionProp name="{users}"><stringProp name="1">{users}</stringProp><stringProp name="2">0</stringProp>'
        "</collectionProp>"
        for users in (50, 20)
    )
    rows = f'<collectionProp name="ultimatethreadgroupdata">{rows}</collectionProp>'
    kinds = {
        "kg.apc.jmeter.threads.UltimateThreadGroup": rows,
        "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup": (
            '<stringProp name="TargetLevel">${__P(c,29)}</stringProp>'
        ),
        "OpenModelThreadGroup": "",
    }
    groups = [
        f'<{kind} testname="g{index}">{inner}</{kind}><hashTree>{request("/a")}</hashTree>'
        for index, (kind, inner) in enumerate(kinds.items())
    ]
    found = import_text("jmx", plan(*groups))
    assert {name: group["share"] for name, group in found.workload["groups"].items()} == {
        "g0": "70 %",
        "g1": "29 %",
        "g2": "1 %",
    }
    assert [(what, why) for _, what, why in found.notes() if what.startswith("users of")] == [
        ("users of 'g0'", "are the sum over its 2 rows, although the rows may not overlap in time"),
        ("users of 'g2'", "are not stated in the plan: 1 is assumed"),
    ]
    assert not found.noted("TargetLevel")


def test_values_that_jmeter_computes_once_are_noted(import_text: Importer) -> None:
    variables = (
        '<Arguments testname="v"><collectionProp name="Arguments.arguments"><elementProp name="id" '
        'elementType="Argument"><stringProp name="Argument.name">id</stringProp><stringProp name="Argument.value">'
        "${__UUID}</stringProp></elementProp></collectionProp></Arguments><hashTree/>"
    )
    found = import_text("jmx", plan(variables, threads("a", 1, request("/${id}/${__Random(1,9,n)}"))))
    assert [(what, why) for _, what, why in found.notes() if what.startswith("variable ")] == [
        (
            "variable id",
            "JMeter evaluates its functions once, before the test; the workload evaluates them at each use",
        ),
        ("variable n", "__Random stores its value in it; in the workload, other uses do not have this value"),
    ]


def test_a_page_of_nothing_but_a_pause_is_no_page(import_text: Importer) -> None:
    pause = element("TestAction", ActionProcessor__action="1", ActionProcessor__duration="1500")
    found = import_text("jmx", plan(threads("a", 1, element("TransactionController", pause) + request("/x"))))
    steps = found.workload["transactions"]["a"]
    assert [next(iter(step)) for step in steps] == ["think", "get"]
    assert steps[0]["think"] == "1.5 s"
