"""Diagnosis of single runs with a known cause. Observations that decide nothing must give `unknown`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from changed_recordings import script
from synthetic_runs import write_run

from towtank.analysis import Diagnosis, summarize_run
from towtank.analysis.diagnosis import Cause, diagnose_run
from towtank.analysis.diagnosis.common_resources import LimitedLink, SharedCpus
from towtank.analysis.diagnosis.connections_here import AcceptQueue, ServerConnections, connections_of
from towtank.analysis.diagnosis.of_run import of_seen
from towtank.analysis.diagnosis.seen import Busiest, Seen, Served, Tier
from towtank.analysis.diagnosis.shape import Rate, Shape
from towtank.analysis.diagnosis.waits import Series, pools, series_of
from towtank.analysis.doubts import DoubtKind
from towtank.analysis.system.limited_disks import LimitedDisk

IDLE = Seen(
    tiers=(),
    machine_cpus=4.0,
    machine_used=0.8,
    generator_used=0.1,
    others_used=0.05,
    shared=None,
    links=(),
    not_found=(),
    errors=0.0,
    errors_answered=0.0,
    failing=None,
    pool_share=0.0,
    kinds={},
    doubts={},
    users=16.0,
    rate=None,
    throughput=100.0,
    response_s=0.16,
    think_s=0.0,
    grows=False,
    transactions=("request",),
)
SHOP = Tier("shop", None, 0.5, 4.0, None, None, 0.0, None, None)


def seen(*tiers: Tier, **changes) -> Seen:
    """Return observations of a nearly idle machine of four CPUs, with the given changes."""
    if changes.get("rate") and "served" not in changes:
        share = changes.get("throughput", IDLE.throughput) / changes["rate"]
        changes["served"] = Served(changes["rate"], share, share)
    return replace(IDLE, tiers=tiers, **changes)


def busy(cpus: float, waits: float = 0.0, most: float | None = None, full: float = 1.0) -> Busiest:
    return Busiest("worker", 4711, cpus, waits, cpus + 0.01 if most is None else most, full)


ONE_PROCESS = replace(SHOP, cpus_used=1.05, process=busy(0.99), thread=busy(0.9, waits=0.02))
ONE_THREAD = replace(SHOP, cpus_used=1.10, process=busy(1.1, most=1.2), thread=busy(0.97))
CROWDED_THREAD = replace(SHOP, cpus_used=0.80, thread=busy(0.75, waits=0.24))
LIMITED = replace(SHOP, cpus_used=0.49, cpus_allotted=0.5, group="/shop", throttled=0.4)
FULL = replace(SHOP, cpus_used=3.8)
DISK = LimitedDisk("store", "data", 0.98, 150.0, "read_operations")
SHARED = SharedCpus(1.0, 0.97, ("shop", "batch"))
LINK = LimitedLink("web", "sent", 12.4e6, 12.5e6)


@pytest.mark.parametrize(
    ("observed", "cause", "place"),
    [
        (seen(FULL, machine_used=3.95), Cause.CPU, "shop"),
        (seen(replace(SHOP, cpus_used=3.2), machine_used=3.9, generator_used=0.6), Cause.CPU, "shop"),
        (seen(ONE_PROCESS), Cause.CPU, "shop, process worker (4711)"),
        (seen(ONE_THREAD), Cause.CPU, "shop, thread worker (4711)"),
        (seen(CROWDED_THREAD, machine_used=4.0, others_used=0.3), Cause.CPU, "shop, thread worker (4711)"),
        (seen(LIMITED), Cause.QUOTA, "shop, control group /shop"),
        (seen(replace(LIMITED, group="/towtank-24efe1/store")), Cause.QUOTA, "shop"),
        (seen(SHOP, disks=(DISK,)), Cause.DISK, "disk data, host store"),
        (seen(SHOP, disks=(replace(DISK, utilization=0.8),)), Cause.UNKNOWN, ""),
        (seen(FULL, machine_used=3.95, disks=(DISK,)), Cause.CPU, "shop"),
        (seen(SHOP, shared=SHARED), Cause.CPU, "batch and shop together"),
        (seen(SHOP, shared=replace(SHARED, used=0.8)), Cause.UNKNOWN, ""),
        (seen(FULL, shared=SHARED), Cause.CPU, "batch and shop together"),
        (seen(LIMITED, shared=SHARED), Cause.QUOTA, "shop, control group /shop"),
        (seen(SHOP, links=(LINK,)), Cause.LINK, "network link, host web"),
        (seen(SHOP, links=(replace(LINK, used=11e6),)), Cause.UNKNOWN, ""),
        (seen(LIMITED, links=(LINK,)), Cause.QUOTA, "shop, control group /shop"),
        (seen(SHOP, errors=0.2, errors_answered=0.2, kinds={"status_5xx": 20}), Cause.ERRORS, ""),
        (seen(SHOP, pool_share=0.75), Cause.GENERATOR, "pool of connections"),
        (seen(SHOP, doubts={"generator_saturated": ("suspect", "81 %")}), Cause.GENERATOR, ""),
        (seen(replace(SHOP, waits=0.6), machine_used=3.9, others_used=2.5), Cause.MACHINE, "CPUs of this machine"),
        (seen(SHOP, doubts={"generator_saturated": ("invalid", "it is full")}), Cause.GENERATOR, ""),
        (seen(SHOP, users=None, rate=100.0, throughput=99.9), Cause.NONE, ""),
        (seen(SHOP, response_s=0.02, think_s=1.0), Cause.NONE, ""),
        (seen(SHOP, users=1.0), Cause.NONE, ""),
        (seen(SHOP), Cause.UNKNOWN, ""),
        (seen(), Cause.UNKNOWN, ""),
    ],
)
def test_each_limit_is_named_with_its_place(observed, cause, place):
    found = of_seen(observed)
    assert (found.cause, found.where) == (cause, place)
    assert found.evidence or not observed.tiers
    assert (found.sure > 0) == (cause is not Cause.UNKNOWN)
    assert found.settle


def test_a_disk_is_named_with_the_use_of_its_limit():
    found = of_seen(seen(SHOP, disks=(replace(DISK, name="log", utilization=0.91), DISK)))
    assert found.evidence == ("disk data of host store uses 98 % of its limit of 150 reads/s",)
    assert found.clause == "the speed of disk data, host store"
    assert found.sure == 0.95
    assert found.against == ("disk log of host store uses 91 % of its limit of 150 reads/s",)
    served = of_seen(seen(SHOP, disks=(replace(DISK, utilization=0.8),), users=None, rate=100.0, throughput=100.0))
    assert served.cause is Cause.NONE
    busiest = "the busiest resource is a disk: disk data of host store uses 80 % of its limit of 150 reads/s"
    assert busiest in served.evidence


def test_the_limited_disks_of_a_summary_are_seen():
    disk = {"utilization": 0.98, "utilization_of": "write_rate", "utilization_limit": 8.0 * 2**20}
    plain = {"utilization": 1.0, "utilization_of": "busy", "utilization_limit": None}
    hosts = {"store": {"disks": {"data": disk, "log": plain}}, "far": {"disks": {"vda": {"utilization": 1.0}}}}
    (found,) = Seen.of({"hosts": hosts}).disks
    assert found == LimitedDisk("store", "data", 0.98, 8.0 * 2**20, "write_rate")
    assert found.text == "disk data of host store uses 98 % of its limit of 8 MiB/s written"


def test_a_link_is_named_with_the_use_of_its_rate():
    # 12.4 of 12.5 million bytes per second are used, or 99 %.
    found = of_seen(seen(SHOP, links=(replace(LINK, host="other", used=11.5e6), LINK)))
    assert (found.clause, found.sure) == ("the rate of network link, host web", 0.95)
    assert "99 % of its link" in found.evidence[0]


def test_links_and_shared_cpus_of_a_summary_are_seen():
    web = {"receive_bytes_per_s": 2e5, "transmit_bytes_per_s": 12.4e6, "link_bytes_per_s": 12.5e6}
    consumers = [
        {"tier": "batch", "host": "batch", "cpus_used": 0.57, "cpus": [0]},
        {"tier": "shop", "host": "web", "cpus_used": 0.4, "cpus": [0]},
        {"tier": "probe", "host": "web", "cpus_used": 0.01, "cpus": [0]},
        {"tier": "far", "host": "other machine", "cpus_used": 0.9, "cpus": []},
        {"tier": "search", "host": "search", "cpus_used": 0.95, "cpus": [1]},
    ]
    summary = {
        "hosts": {"web": web, "batch": {**web, "link_bytes_per_s": None}},
        "machine": {"cpus": 2, "cpus_used": {"value": 1.93}, "consumers": consumers},
    }
    found = Seen.of(summary)
    assert found.links == (LINK,)
    assert found.shared == SharedCpus(1.0, pytest.approx(0.98), ("batch", "shop"))
    alone = {**summary, "machine": {**summary["machine"], "consumers": consumers[1:]}}
    assert Seen.of(alone).shared is None, "a single host does not share its CPUs"


@pytest.mark.parametrize("neighbour", [0.5, 0.89, 0.91, 0.94])
def test_cpus_that_hosts_use_up_are_shared_whatever_the_share_of_each(neighbour):
    shop, batch = replace(SHOP, cpus_allotted=1.0, cpus_used=0.99 - neighbour), replace(SHOP, name="batch")
    tiers = (shop, replace(batch, cpus_allotted=1.0, cpus_used=neighbour))
    found = of_seen(seen(*tiers, shared=SharedCpus(1.0, 0.99, ("batch", "shop"))))
    assert (found.cause, found.where, found.sure) == (Cause.CPU, "batch and shop together", 0.9)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"links": (replace(LINK, used=11.1e6),)}, "the busiest resource is a link: host web sent"),
        ({"shared": replace(SHARED, used=0.89)}, "the busiest resource is a CPU: batch and shop together use 0.89"),
    ],
)
def test_the_busiest_of_all_resources_is_named(more, text):
    found = of_seen(seen(SHOP, disks=(replace(DISK, utilization=0.6),), **more))
    assert any(text in each for each in found.evidence), found.evidence


def gauge(name: str, mean: float) -> Series:
    return Series("shop", name, False, mean)


def counter(name: str, per_s: float) -> Series:
    return Series("shop", name, True, per_s)


HELD = counter("shop_report_lock_held_seconds_total", 0.97)
IN_USE = gauge("shop_pool_connections_in_use", 3.95)
POOLS = [
    (IN_USE, gauge("shop_pool_size", 4.0)),
    (gauge('hikaricp_connections_active{pool="a"}', 10.0), gauge('hikaricp_connections_max{pool="a"}', 10.0)),
    (gauge("tomcat_threads_busy_threads", 199.0), gauge("tomcat_threads_config_max_threads", 200.0)),
    (gauge("go_sql_in_use_connections", 5.0), gauge("go_sql_max_open_connections", 5.0)),
]


def test_a_lock_that_is_always_held_limits():
    found = of_seen(seen(SHOP, series=(HELD, gauge("shop_report_lock_waiting", 14.2))))
    assert (found.cause, found.place.part) == (Cause.LOCK, "metric shop_report_lock_held_seconds_total")
    assert found.sure == 0.9
    assert "14.2 requests wait" in found.evidence[1]
    assert of_seen(seen(SHOP, series=(HELD,))).sure < 0.9


@pytest.mark.parametrize("series", POOLS)
def test_a_pool_that_is_fully_in_use_limits(series):
    found = of_seen(seen(SHOP, series=(*series, gauge("process_open_fds", 10.0))))
    assert (found.cause, found.place.part) == (Cause.POOL, f"metric {series[0].key}")


@pytest.mark.parametrize(
    "series",
    [
        (counter("shop_report_lock_held_seconds_total", 0.6),),
        # The counter is the sum of the waiting times of all requests, so it does not show for how long the lock is
        # held.
        (counter("shop_report_lock_wait_seconds_total", 1.0),),
        (counter("process_cpu_seconds_total", 0.99),),
        (gauge("shop_pool_connections_in_use", 2.0), gauge("shop_pool_size", 4.0)),
        # Gauges that are not the size of this pool: a size of 0, and the size of a different pool.
        (gauge("shop_pool_connections_in_use", 0.0), gauge("shop_pool_size", 0.0)),
        (gauge("shop_pool_connections_in_use", 4.0), gauge("other_pool_size", 4.0)),
        # Gauges of two different pools: busy worker threads, and the size of the database pool.
        (gauge("content_server_worker_threads_busy", 4.0), gauge("content_server_database_pool_size", 4.0)),
        (gauge("cache_entries_used", 1e4), gauge("cache_entries_max", 1e4)),
        (gauge("tomcat_sessions_active_max_sessions", 9.0), gauge("tomcat_sessions_active_current_sessions", 9.0)),
        (gauge('pool_a_in_use{of="x"}', 4.0), gauge('pool_a_size{of="y"}', 4.0)),
        (gauge("jvm_memory_used_bytes", 4e9), gauge("jvm_memory_max_bytes", 4e9)),
    ],
)
def test_metrics_that_are_no_limit(series):
    assert of_seen(seen(SHOP, series=series)).cause is Cause.UNKNOWN


def test_a_full_link_comes_before_the_pool_that_fills_because_of_it():
    pool = (IN_USE, gauge("shop_pool_size", 4.0))
    assert of_seen(seen(SHOP, series=pool)).cause is Cause.POOL
    assert of_seen(seen(SHOP, series=pool, links=(LINK,))).cause is Cause.LINK


def test_a_full_pool_before_a_saturated_cpu_is_its_consequence():
    full = seen(FULL, machine_used=3.95, series=POOLS[0])
    found = of_seen(full)
    assert found.cause is Cause.CPU
    assert "`shop_pool_connections_in_use` is 3.95 of `shop_pool_size` 4" in found.against


@pytest.mark.parametrize(
    "observed",
    [
        # Two processes share the work of the tier, so neither of them limits it alone.
        seen(replace(SHOP, cpus_used=1.9, process=busy(0.98))),
        # Several threads together use about one CPU only by chance: in some samples they use more than one CPU.
        seen(replace(SHOP, cpus_used=0.98, process=busy(0.98, most=1.3))),
        seen(replace(SHOP, cpus_used=0.98, process=busy(0.98, full=0.5))),
        # The tier uses nearly all of the CPU limit of its control group, but was never throttled.
        seen(replace(LIMITED, throttled=0.0, cpus_used=0.44)),
        # The arrival rate exceeds the throughput, or the number of requests in the system grows. This shows overload,
        # but not its cause.
        seen(SHOP, users=None, rate=100.0, throughput=90.0),
        seen(SHOP, users=None, rate=100.0, throughput=99.9, grows=True),
        seen(
            SHOP, users=None, rate=100.0, throughput=99.9, doubts={DoubtKind.NO_STEADY_STATE: ("suspect", "it grows")}
        ),
        # Other programs use all CPUs of the machine, but the tested system never waits for a CPU.
        seen(SHOP, machine_used=4.0, others_used=3.4),
        # Users wait for a lock: the response time is ten times the CPU time of a transaction. By mean value analysis, a
        # lock held for 22 ms gives these values; its utilization is 87 %.
        seen(SHOP, users=84.0, throughput=39.5, response_s=0.13, think_s=2.0),
        # A few failed transactions are no evidence of a limit.
        seen(SHOP, errors=0.005, errors_answered=0.005, kinds={"status_5xx": 5}),
        # The target was not found on the busy machine, so its CPU use cannot be distinguished from that of other
        # programs.
        seen(machine_used=4.0, others_used=3.8, not_found=("127.0.0.1:80",)),
    ],
)
def test_no_cause_without_evidence(observed):
    found = of_seen(observed)
    assert found.cause is Cause.UNKNOWN
    assert found.sure == 0
    assert found.settle


def test_time_outs_of_a_saturated_server_are_its_consequence():
    failing = {"errors": 0.3, "kinds": {"timeout": 30}}
    assert of_seen(seen(FULL, machine_used=3.95, **failing)).cause is Cause.CPU
    assert of_seen(seen(SHOP, **failing)).cause is Cause.ERRORS


def test_a_flood_of_refusals_that_uses_up_the_machine_is_a_limit_by_errors():
    found = of_seen(seen(FULL, machine_used=3.95, errors=0.9, errors_answered=0.9, kinds={"status_5xx": 900}))
    assert found.cause is Cause.ERRORS
    assert found.against


def test_other_programs_cannot_explain_what_uses_all_it_may_use():
    crowded = {"machine_used": 4.0, "others_used": 2.0}
    waiting = replace(LIMITED, waits=3.0)
    assert of_seen(seen(waiting, **crowded)).cause is Cause.QUOTA
    assert of_seen(seen(replace(ONE_PROCESS, waits=3.0), **crowded)).cause is Cause.CPU
    assert of_seen(seen(replace(CROWDED_THREAD, waits=3.0), **crowded)).cause is Cause.MACHINE


def test_no_cause_is_likely_by_a_run_that_is_not_valid():
    found = of_seen(seen(ONE_PROCESS, doubts={DoubtKind.INTERFERENCE: ("invalid", "others used 1.9 CPUs")}))
    assert (found.cause, found.sure, found.is_likely) == (Cause.CPU, 0.4, False)
    assert found.against[0] == "the run is invalid: others used 1.9 CPUs"
    assert found.headline.startswith("perhaps limited by")
    # A missing steady state makes no cause less likely, because an overloaded system is not in a steady state either.
    assert of_seen(seen(ONE_PROCESS, doubts={DoubtKind.NO_STEADY_STATE: ("invalid", "it grows")})).is_likely


def test_other_programs_on_the_cpus_of_a_started_system_are_the_cause_only_if_it_waits():
    busy_others = {"others_used": None, "doubts": {DoubtKind.INTERFERENCE: ("invalid", "other programs used 76 %")}}
    waiting = replace(SHOP, cpus_used=0.6, cpus_allotted=1.0, waits=0.5)
    assert of_seen(seen(waiting, **busy_others)).cause is Cause.MACHINE
    assert of_seen(seen(replace(waiting, waits=0.01), **busy_others)).cause is Cause.UNKNOWN


def test_a_control_group_hides_the_machine():
    assert of_seen(seen(LIMITED, machine_used=3.9)).cause is Cause.QUOTA


def test_a_resource_that_is_busy_while_the_load_is_served_is_evidence_only():
    served = {"users": None, "rate": 100.0, "throughput": 100.0}
    thinking = {"users": 1.0, "response_s": 1.0, "think_s": 0.01}
    for observed in (seen(ONE_PROCESS, **served), seen(SHOP, series=(HELD,), **served), seen(ONE_PROCESS, **thinking)):
        found = of_seen(observed)
        assert (found.cause, found.sure) == (Cause.NONE, 0.6)
        assert found.against


ALONE = {"users": 1.0, "response_s": 0.1, "throughput": 10.0}
BUSY = replace(SHOP, cpus_used=0.97)
PINNED = replace(BUSY, cpus_allotted=1.0)
GROUPED = replace(PINNED, group="/towtank-24efe1/server", throttled=0.0)
IN_PROCESS = replace(BUSY, process=busy(0.97), thread=busy(0.4))


@pytest.mark.parametrize(
    ("tier", "part"),
    [(BUSY, None), (PINNED, None), (GROUPED, None), (IN_PROCESS, "process worker (4711)")],
    ids=["of several", "pinned", "control group", "process"],
)
def test_one_user_without_think_time_is_limited_by_a_busy_cpu(tier, part):
    """By the bound X <= N / (R + Z), one user has X = 1 / R, and R is the sum of demands. 97 ms of R = 100 ms are CPU
    time, so the CPU has the largest demand.
    """
    found = of_seen(seen(tier, **ALONE))
    assert (found.cause, found.place.tier, found.place.part, found.sure) == (Cause.CPU, "shop", part, 0.9)
    assert found.evidence[-1] == (
        "one user at a time, without think time: nothing queues, and this CPU is busy 97 % of the time"
    )
    assert found.settle.startswith("repeat on a faster CPU: each transaction takes less time in proportion")
    half = replace(tier, cpus_used=0.5, process=part and busy(0.5))
    assert of_seen(seen(half, **ALONE)).cause is Cause.NONE
    assert of_seen(seen(tier, **ALONE, think_s=0.002)).cause is Cause.NONE
    assert of_seen(seen(tier, **ALONE, think_s=None)).cause is Cause.NONE
    assert of_seen(seen(tier, **{**ALONE, "users": 2.0})).evidence != found.evidence


def test_one_user_is_limited_by_what_delays_it():
    assert of_seen(seen(LIMITED, **ALONE)).cause is Cause.QUOTA
    assert of_seen(seen(SHOP, disks=(DISK,), **ALONE)).cause is Cause.DISK
    assert of_seen(seen(SHOP, links=(LINK,), **ALONE)).cause is Cause.LINK
    # A single user keeps all CPUs busy: its requests run in parallel, so further CPUs would help.
    assert of_seen(seen(FULL, machine_used=3.95, **ALONE)).settle.startswith("repeat with more or fewer CPUs")
    # A single user never waits for a lock or for a connection of a pool.
    assert of_seen(seen(SHOP, series=(HELD,), **ALONE)).cause is Cause.NONE
    assert of_seen(seen(SHOP, series=POOLS[0], **ALONE)).cause is Cause.NONE
    # Two CPUs, one after the other, are each busy half of the time.
    halves = (replace(PINNED, cpus_used=0.48), replace(PINNED, name="database", cpus_used=0.49))
    assert of_seen(seen(*halves, **ALONE)).cause is Cause.NONE


def test_the_load_of_a_summary_is_typed():
    asked = [Seen.of(summary) for summary in ({"users": {"asked": 1}}, {"rate": 4.0, "users": {"asked": None}})]
    assert [(found.users, found.rate, found.is_serial) for found in asked] == [(1.0, None, False), (None, 4.0, False)]
    serial = Seen.of({"users": {"asked": 1}, "laws": {"little": {"z_s": 0.0}}})
    assert serial.is_serial


def test_no_load_is_below_every_limit_by_a_run_that_is_not_valid():
    found = of_seen(seen(SHOP, users=1.0, doubts={DoubtKind.START_LAG: ("invalid", "starts are late")}))
    assert (found.cause, found.sure) == (Cause.NONE, 0.4)
    assert found.headline.startswith("perhaps no limit")
    assert "starts are late" in found.against[0]


def test_some_failures_are_a_remark_beside_what_limits():
    failing = {"errors": 0.15, "errors_answered": 0.15, "kinds": {"status_5xx": 15}}
    assert of_seen(seen(SHOP, series=POOLS[0], **failing)).cause is Cause.POOL
    few = of_seen(seen(SHOP, errors=0.03, errors_answered=0.03, kinds={"status_4xx": 3}))
    assert few.cause is Cause.UNKNOWN
    assert any("3 % of the requests fail (status_4xx 3)" in text for text in few.evidence)


def test_a_busy_generator_does_not_hide_a_saturated_system():
    busy_generator = {"doubts": {"generator_saturated": ("suspect", "81 % of the envelope")}}
    found = of_seen(seen(FULL, machine_used=3.95, **busy_generator))
    assert (found.cause, found.place.tier) == (Cause.CPU, "shop")


def test_two_tiers_at_their_limits_are_both_named():
    database = replace(SHOP, name="database", cpus_used=3.9, host="far")
    found = of_seen(seen(ONE_PROCESS, database))
    assert found.place.tier == "shop"
    assert any("database uses 3.90 of its 4 CPUs" in text for text in found.against)


def test_tiers_of_one_control_group_reach_its_limit_together():
    app, database = replace(LIMITED, cpus_used=0.29), replace(LIMITED, name="database", cpus_used=0.2)
    found = of_seen(seen(app, database))
    assert (found.cause, found.where) == (Cause.QUOTA, "shop, control group /shop")
    assert "shop and database together use 0.49 of the 0.5 CPUs" in found.evidence[0]
    assert "raise the limit (cpu.max of /shop)" in found.settle
    assert "raise `cpus` of the host store" in of_seen(seen(replace(LIMITED, group="/towtank-24efe1/store"))).settle
    idle = of_seen(seen(*(replace(tier, throttled=0.0) for tier in (app, database))))
    assert (idle.cause, idle.sure) == (Cause.CPU, 0.7)


def test_a_machine_without_a_number_of_cpus_is_no_fault():
    assert of_seen(seen(ONE_PROCESS, machine_cpus=None, machine_used=None)).cause is Cause.CPU


def test_a_busy_machine_without_tiers_is_no_cause():
    assert of_seen(seen(machine_used=4.0, others_used=3.8)).cause is Cause.UNKNOWN


def test_who_waits_has_the_labels_of_the_pool():
    first, second = (gauge(f'db_pool_in_use{{pool="{name}"}}', 10.0) for name in "ab")
    sizes = [gauge(f'db_pool_size{{pool="{name}"}}', 10.0) for name in "ab"]
    waiting = [gauge('db_pool_pending{pool="a"}', 0.0), gauge('db_pool_pending{pool="b"}', 14.0)]
    found = of_seen(seen(SHOP, series=(first, second, *sizes, *waiting)))
    assert (found.place.part, found.sure) == ('metric db_pool_in_use{pool="b"}', 0.9)
    acquired = counter("hikaricp_connections_acquire_seconds", 400.0)
    assert of_seen(seen(SHOP, series=(*POOLS[1], acquired))).sure == 0.4
    assert not series_of(
        {"shop": {"job_lock_held_seconds_count": {"kind": "counter", "per_s": 1.0}, "x": {"mean": None}}}
    )


def test_nobody_who_waits_means_no_limit():
    series = (*POOLS[1], gauge('hikaricp_connections_pending{pool="a"}', 0.0))
    assert of_seen(seen(SHOP, series=series)).cause is Cause.UNKNOWN


def test_a_page_of_thousands_of_full_pools_names_a_few():
    many = [
        each
        for number in range(3000)
        for each in (gauge(f"app_{number}_pool_in_use", 10.0), gauge(f"app_{number}_pool_size", 10.0))
    ]
    assert len(list(pools(many))) == 3


def test_a_cause_of_a_later_version_is_read_as_unknown():
    later = {**of_seen(seen(ONE_PROCESS)).document(), "cause": "memory", "place": {"tier": "shop", "disk": "vda"}}
    found = Diagnosis.read(later)
    assert (found.cause, found.sure, found.place.tier) == (Cause.UNKNOWN, 0.0, "shop")
    assert Diagnosis.read({}).cause is Cause.UNKNOWN


def test_what_was_not_observed_is_said():
    assert of_seen(seen()).unknown == (
        "CPU, memory and connections of the target: no process of it was found on this machine",
    )
    hidden = of_seen(seen(not_found=("127.0.0.1:80",)))
    assert "127.0.0.1:80" in hidden.unknown[0]


def test_the_generator_that_takes_much_of_the_machine_is_evidence_against():
    found = of_seen(seen(replace(SHOP, cpus_used=2.0), machine_used=4.0, generator_used=1.8, others_used=0.1))
    assert found.cause is Cause.CPU
    assert found.sure < 0.7
    assert "the generator itself uses 1.80 CPUs" in found.against[0]


def test_the_document_is_read_back():
    found = of_seen(seen(ONE_PROCESS))
    assert Diagnosis.read(found.document()) == found
    assert str(found).startswith("limited by the CPU of shop, process worker (4711) (90 % sure)\n  because ")


def test_a_recorded_run_is_diagnosed(tmp_path):
    summary = summarize_run(write_run(tmp_path / "r001", script()), tables=False)
    found = diagnose_run(summary)
    assert found.cause in (Cause.UNKNOWN, Cause.NONE)
    summary["tiers"]["content"]["cpus_used"]["value"] = 0.97 * summary["tiers"]["content"]["cpus_allotted"]
    assert (diagnose_run(summary).cause, diagnose_run(summary).where) == (Cause.CPU, "content, transaction read")


def test_a_tier_of_another_machine_is_not_compared_with_this_machine(tmp_path):
    summary = summarize_run(write_run(tmp_path / "r001", script()), tables=False)
    summary["tiers"]["content"] |= {"host": "far", "cpus_allotted": 4, "busiest": {"process": None, "thread": None}}
    summary["tiers"]["content"]["busiest"]["process"] = {
        "name": "java",
        "pid": 9,
        "cpus": 0.99,
        "share_of_time_full": 1.0,
    }
    summary["hosts"] = {"far": {"steal": 0.0, "throttled": {}}}
    found = diagnose_run(summary)
    assert (found.cause, found.place.host) == (Cause.CPU, "far")
    assert "this machine" not in found.evidence[0]


FULL_POOL = ServerConnections("database", 4.0, 4.0, 3.98)
QUEUE = AcceptQueue("shop", 0.0, 0.0)
CROWDED = {"machine_used": 4.0, "others_used": 3.0}


@pytest.mark.parametrize(
    ("connections", "changes", "cause", "likely"),
    [
        (FULL_POOL, {}, Cause.POOL, True),
        # The pool is not the limit if some connections are idle, if their number changes, or if only as many requests
        # as connections are in the system.
        (replace(FULL_POOL, busy=3.0), {}, Cause.UNKNOWN, False),
        (replace(FULL_POOL, most=6.0), {}, Cause.UNKNOWN, False),
        (FULL_POOL, {"throughput": 100.0, "response_s": 0.04}, Cause.UNKNOWN, False),
        # Several requests may share one connection.
        (ServerConnections("cache", 1.0, 1.0, 1.0), {}, Cause.POOL, False),
        # The connections belong to clients that wait for messages: hardly any transaction sends a request to the
        # server.
        (replace(FULL_POOL, sent_per_s=1.5), {}, Cause.UNKNOWN, False),
        (replace(FULL_POOL, sent_per_s=100.0), {}, Cause.POOL, True),
        (replace(FULL_POOL, waiting_for_lock=2.9), {}, Cause.LOCK, True),
        (replace(FULL_POOL, waiting_for_lock=1.0), {}, Cause.POOL, True),
        # Other programs delay a few of the requests that hold a connection, or most of these requests.
        (FULL_POOL, {**CROWDED, "waits": 0.6}, Cause.POOL, True),
        (FULL_POOL, {**CROWDED, "waits": 3.0}, Cause.MACHINE, True),
    ],
)
def test_connections_to_a_server_behind_the_target(connections, changes, cause, likely):
    shop = replace(SHOP, waits=changes.get("waits", 0.0))
    others = {key: value for key, value in changes.items() if key != "waits"}
    found = of_seen(seen(shop, connections=(connections,), accept_queues=(QUEUE,), **others))
    assert (found.cause, found.is_likely) == (cause, likely)
    if cause is Cause.POOL:
        assert (found.place.tier, found.place.part) == ("shop", f"connections to {connections.server}")
    if cause is Cause.LOCK:
        assert (found.place.tier, found.place.part) == ("database", "lock of the database")


def test_idle_connections_are_evidence_against_a_pool():
    found = of_seen(seen(SHOP, connections=(replace(FULL_POOL, busy=1.2),)))
    assert "1.2 of 4 connections to database were busy on average" in found.evidence


def test_connections_that_hardly_any_transaction_uses_are_evidence_against_a_pool():
    found = of_seen(seen(SHOP, connections=(replace(FULL_POOL, sent_per_s=1.5),)))
    assert any("1.5 segments per second are sent to it, at a throughput of 100 /s" in text for text in found.evidence)


def test_connections_that_wait_to_be_accepted_show_that_all_workers_are_busy():
    found = of_seen(seen(SHOP, accept_queues=(AcceptQueue("shop", 11.5, 1.0),)))
    assert (found.cause, found.place.part) == (Cause.POOL, "workers that accept connections")
    assert found.evidence == ("11.5 connections wait on average until shop accepts them",)


@pytest.mark.parametrize("in_use", [0.2, 0.89, None])
def test_connections_that_wait_only_at_times_are_no_sign_of_busy_workers(in_use):
    # A burst of 57 connections in a fifth of the samples has the same mean as 11.5 connections all the time.
    found = of_seen(seen(SHOP, accept_queues=(AcceptQueue("shop", 11.5, in_use),)))
    assert found.cause is Cause.UNKNOWN


def test_a_server_that_may_open_no_further_file_accepts_no_connection():
    tier = replace(SHOP, open_files=20.0, open_files_limit=20.0)
    found = of_seen(seen(tier, accept_queues=(AcceptQueue("shop", 4.0, 0.95),)))
    assert (found.cause, found.place.tier, found.place.part) == (Cause.POOL, "shop", "open files")
    assert found.evidence[0] == "shop is at its limit of 20 open files (sockets are files) in one process"
    many = replace(tier, open_files_limit=1024.0)
    found = of_seen(seen(many, accept_queues=(AcceptQueue("shop", 4.0, 0.95),)))
    assert found.place.part == "workers that accept connections"


def test_the_open_files_of_a_tier_are_read_from_a_summary(tmp_path):
    summary = summarize_run(write_run(tmp_path / "r001", script()), tables=False)
    summary["tiers"]["content"]["limits"]["open_files"] = {"most": 20.0, "limit": 20.0, "known": True}
    assert [tier.has_no_file_left for tier in Seen.of(summary).tiers if tier.name == "content"] == [True]


def test_connections_are_read_from_the_series_of_a_summary():
    values = {"server_connections": (4.0, 5.0), "server_connections_busy": (3.5, 4.0)}
    series = {f'{name}{{to="db"}}': {"mean": mean, "max": most} for name, (mean, most) in values.items()}
    assert connections_of({"connections.here": series}) == (ServerConnections("db", 4.0, 5.0, 3.5),)
    series['server_segments_sent_total{to="db"}'] = {"per_s": 97.5}
    assert connections_of({"connections.here": series})[0].sent_per_s == 97.5
    assert series_of({"connections.here": series}) == []


def test_refusals_are_the_cause_although_other_programs_fill_the_machine():
    refusing = {"errors": 0.8, "errors_answered": 0.8, "kinds": {"status_4xx": 800}}
    assert of_seen(seen(replace(SHOP, waits=1.0), **CROWDED, **refusing)).cause is Cause.ERRORS
    timeouts = {"errors": 0.8, "errors_answered": 0.0, "kinds": {"timeout": 800}}
    assert of_seen(seen(replace(SHOP, waits=1.0), **CROWDED, **timeouts)).cause is Cause.MACHINE


@pytest.mark.parametrize(
    ("shape", "rate", "text"),
    [
        (Shape(Rate(100.0, 98.0, 102.0), 100.0, 91.0), None, "throughput was 91 % of its later value"),
        (Shape(Rate(100.0, 98.0, 102.0), 100.0, 55.0), None, None),
        (Shape(Rate(100.0, 98.0, 102.0), 100.0, None), None, None),
        (Shape(Rate(20.0, 19.0, 21.0), 20.0, 91.0), None, "throughput falls from 91 /s during the ramp to 20 /s"),
        (Shape(Rate(80.0, 79.0, 81.0, "report"), 100.0, 91.0), None, "on `report` that no observed resource explains"),
        (Shape(Rate(100.0, None, None), 100.0, None), 200.0, "of 200 arrivals per second, 100 are served"),
        (
            Shape(Rate(40.0, 39.0, 41.0), 40.0, None, ((4.0, 39.0), (16.0, 40.0), (32.0, 40.0))),
            None,
            "throughput stays at about 40 /s from 4 to 32 users",
        ),
    ],
)
def test_a_limit_that_no_resource_explains_is_stated_with_its_number(shape, rate, text):
    found = of_seen(seen(SHOP, shape=shape, rate=rate, users=None if rate else 16.0, throughput=shape.total_per_s))
    said = "; ".join(found.evidence)
    assert (found.cause, "a limit of about" in said) == (Cause.UNKNOWN, text is not None and "falls" not in text)
    assert text is None or text in said
    assert found.place.transaction == (shape.steady.transaction if text else None)


def open_run(rate: float, value: float, spread: float, failed: float = 0.0, **growth: float) -> Seen:
    """Return the observations of an open load over 5 s, whose throughput has an interval of `spread` on both sides."""
    throughput = {"value": value, "low": value - spread, "high": value + spread}
    # The first seconds of the steady stage were left out of the window. Arrivals were counted in the whole stage.
    window = {"start_s": 1.0, "end_s": 6.0, "asked_start_s": -4.0, "growth": growth or None}
    summary = {"rate": rate, "throughput_per_s": throughput, "errors": {"share": failed}, "window": window}
    return Seen.of(summary)


@pytest.mark.parametrize(
    ("observed", "cause", "is_limit"),
    [
        # By chance, fewer arrivals occurred than were specified. All of them were served.
        (open_run(20.0, 18.6, 1.6, arrived=188.0, length_s=10.0, share=0.01), Cause.NONE, False),
        # The number of arrivals is unknown. The interval of the throughput includes the requested rate.
        (open_run(20.0, 19.2, 1.6), Cause.UNKNOWN, False),
        # Failed requests count as served: 4 % of the arrivals fail.
        (open_run(100.0, 96.0, 1.0, failed=0.04), Cause.NONE, False),
        (open_run(100.0, 96.0, 1.0, failed=0.04, arrived=1000.0, length_s=10.0, share=0.0), Cause.NONE, False),
        # Some of the arrivals are not completed.
        (open_run(100.0, 90.0, 2.0), Cause.UNKNOWN, True),
        (open_run(100.0, 90.0, 2.0, arrived=1020.0, length_s=10.0, share=0.1), Cause.UNKNOWN, True),
        (open_run(100.0, 97.0, 2.0, arrived=1000.0, length_s=10.0, share=0.03), Cause.UNKNOWN, False),
    ],
)
def test_arrivals_of_an_open_load_that_are_fewer_by_chance_or_fail_are_no_limit(observed, cause, is_limit):
    found = of_seen(observed)
    assert found.cause is cause
    assert ("no observed resource explains" in "; ".join(found.evidence)) is is_limit


FLAT = Shape(Rate(175.0, None, None, "report"), 214.9, 172.0)
STEEP = Shape(Rate(175.0, None, None, "report"), 214.9, 120.0)


@pytest.mark.parametrize(
    ("used", "waits", "shape", "cause"),
    [
        # Two interpreters use 0.9 CPUs each, because their threads pass a lock to one another.
        (1.79, 1.09, FLAT, Cause.CPU),
        (1.65, 1.09, FLAT, Cause.UNKNOWN),
        (1.79, 0.4, FLAT, Cause.UNKNOWN),
        (1.79, 1.09, STEEP, Cause.UNKNOWN),
        (1.79, 1.09, None, Cause.UNKNOWN),
    ],
)
def test_nearly_full_cpus_are_the_cause_if_threads_wait_and_throughput_is_flat(used, waits, shape, cause):
    tier = replace(SHOP, cpus_used=used, cpus_allotted=2.0, waits=waits)
    found = of_seen(seen(tier, machine_cpus=2.0, machine_used=used + 0.02, shape=shape))
    assert found.cause is cause
    if cause is Cause.CPU:
        assert (found.sure, found.against) == (0.6, ("the CPUs of shop are idle for 10 % of the time",))
        assert "no observed resource" not in " ".join(found.evidence)
        full_pool = (gauge("shop_pool_connections_in_use", 3.95), gauge("shop_pool_size", 4))
        observed = seen(tier, machine_cpus=2.0, machine_used=used + 0.02, shape=shape, series=full_pool)
        assert of_seen(observed).cause is Cause.POOL


@pytest.mark.parametrize(
    ("used", "waits", "cause"),
    [
        (0.5, 2.0, Cause.MACHINE),
        # At times, no thread of the system needs a CPU.
        (0.1, 0.5, Cause.UNKNOWN),
        # Threads that need hardly any CPU time wait each time they wake up.
        (0.01, 1.2, Cause.UNKNOWN),
    ],
)
def test_other_programs_limit_a_system_that_needs_the_cpus_all_the_time(used, waits, cause):
    found = of_seen(seen(replace(SHOP, cpus_used=used, waits=waits), **CROWDED))
    assert found.cause is cause
    if cause is Cause.UNKNOWN:
        assert any("of its threads wait for a CPU on average" in text for text in found.evidence)
