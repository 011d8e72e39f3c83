"""Metrics of third-party servers: recorded responses with exact values, and invalid responses."""

from __future__ import annotations

from pathlib import Path

import pytest
from dripping import dripping
from metric_tables import metric_names
from waiting import PATIENCE_S

from towtank.observe import ScrapeError, haproxy, httpd, nginx, openldap, redis
from towtank.observe.gc_log import GcCounts
from towtank.observe.nginx import MembersLog
from towtank.observe.scraper import series_name

# Response of Apache httpd 2.4.71; some lines are omitted.
HTTPD_PAGE = """\
127.0.0.1
ServerVersion: Apache/2.4.71 (Debian)
Total Accesses: 10
Total kBytes: 3
Total Duration: 11
ReqPerSec: 10
BusyWorkers: 1
IdleWorkers: 9
Processes: 2
ConnsTotal: 4
ConnsAsyncKeepAlive: 3
Scoreboard: _______W__..........
ProxyBalancer[0]Name: balancer://m0
ProxyBalancer[0]Worker[0]Name: http://127.0.0.1:18101
ProxyBalancer[0]Worker[0]Status: Init Ok
ProxyBalancer[0]Worker[0]Elected: 6
ProxyBalancer[0]Worker[0]Busy: 2
ProxyBalancer[0]Worker[0]Sent: 12K
ProxyBalancer[0]Worker[0]Rcvd: 1.5M
ProxyBalancer[1]Name: balancer://m1
ProxyBalancer[1]Worker[0]Name: http://127.0.0.1:18102
ProxyBalancer[1]Worker[0]Status: Init Err
ProxyBalancer[1]Worker[0]Elected: 4
"""
# Response of nginx 1.22.1.
NGINX_PAGE = "Active connections: 3 \nserver accepts handled requests\n 16 15 31 \nReading: 0 Writing: 1 Waiting: 2 \n"
# Response of HAProxy 2.6.12; the columns after the eleventh are omitted.
HAPROXY_INFO = "Name: HAProxy\nMaxconn: 300\nCurrConns: 2\nCumConns: 6\nCumReq: 7\nIdle_pct: 99\nnode: vm\n\n"
HAPROXY_STAT = """\
# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,hrsp_2xx,hrsp_5xx
front,FRONTEND,,,1,1,300,5,415,865,4,1
members,web-1,0,0,0,1,,2,166,346,2,0
members,web-2,3,3,1,1,,3,249,519,2,1
members,BACKEND,3,3,1,1,30,5,415,865,4,1

"""
# Response of Redis 7.0.15; most lines are omitted.
REDIS_INFO = """\
# Clients\r
connected_clients:2\r
# Memory\r
used_memory:1048576\r
maxmemory:10485760\r
# Stats\r
total_commands_processed:17\r
keyspace_hits:5\r
keyspace_misses:1\r
# Commandstats\r
cmdstat_get:calls=6,usec=30,usec_per_call=5.00,rejected_calls=0,failed_calls=0\r
# Keyspace\r
db0:keys=12,expires=0,avg_ttl=0\r
"""
# Response of OpenLDAP 2.5.13.
LDAP_ENTRIES = [
    ("cn=Monitor", {"monitoredInfo": ["OpenLDAP: slapd 2.5.13"]}),
    ("cn=Search,cn=Operations,cn=Monitor", {"monitorOpInitiated": ["5"], "monitorOpCompleted": ["4"]}),
    ("cn=Current,cn=Connections,cn=Monitor", {"monitorCounter": [2]}),
    ("cn=Max,cn=Threads,cn=Monitor", {"monitoredInfo": ["16"]}),
    ("cn=Database 2,cn=Databases,cn=Monitor", {"olmMDBPagesMax": ["2048"], "olmMDBPagesUsed": [15]}),
    ("cn=State,cn=Threads,cn=Monitor", {"monitoredInfo": ["running"]}),
]


def member(name: str) -> str:
    return series_name("balancer_member_requests_total", member=name)


def test_httpd_reports_workers_and_members_by_name() -> None:
    values = httpd.parse(HTTPD_PAGE, {"127.0.0.1:18101": "web-1"})
    assert values == {
        "httpd_requests_total": 10,
        "httpd_sent_bytes_total": 3072,
        "httpd_request_seconds_total": pytest.approx(0.011),
        "httpd_workers_busy": 1,
        "httpd_workers_idle": 9,
        "httpd_workers_limit": 20,
        "httpd_processes": 2,
        "httpd_connections": 4,
        "httpd_connections_kept": 3,
        member("web-1"): 6,
        series_name("httpd_member_busy", member="web-1"): 2,
        series_name("httpd_member_sent_bytes_total", member="web-1"): 12 * 1024,
        series_name("httpd_member_received_bytes_total", member="web-1"): 1.5 * 1024**2,
        series_name("httpd_member_ok", member="web-1"): 1,
        member("127.0.0.1:18102"): 4,
        series_name("httpd_member_ok", member="127.0.0.1:18102"): 0,
    }
    assert bare(values) <= metric_names("Apache httpd")


def test_nginx_reports_connections_and_requests() -> None:
    values = nginx.parse(NGINX_PAGE)
    assert values == {
        "nginx_connections": 3,
        "nginx_connections_accepted_total": 16,
        "nginx_connections_handled_total": 15,
        "nginx_requests_total": 31,
        "nginx_connections_reading": 0,
        "nginx_connections_writing": 1,
        "nginx_connections_waiting": 2,
    }
    assert bare(values) <= metric_names("nginx")


def test_the_log_of_members_is_read_once_and_lines_in_halves_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "members.log"
    path.write_bytes(b"0\n1\n0\n1")
    log = MembersLog(path, ["web-1", "web-2"])
    other = series_name("nginx_member_requests_unclear_total", member="other")
    assert log.counts() == {member("web-1"): 2, member("web-2"): 1, other: 0}
    with path.open("ab") as stream:
        # These bytes turn the last line, "1", into "10", which is not the number of a server.
        stream.write(b"0\n-\n1\n")
    assert log.counts() == {member("web-1"): 2, member("web-2"): 2, other: 2}
    path.unlink()
    with pytest.raises(ScrapeError, match=r"members\.log"):
        log.counts()


def test_haproxy_reports_members_queues_and_answers() -> None:
    assert haproxy.parse_info(HAPROXY_INFO) == {
        "haproxy_connections": 2,
        "haproxy_connections_limit": 300,
        "haproxy_connections_total": 6,
        "haproxy_requests_total": 7,
        "haproxy_idle_ratio": pytest.approx(0.99),
    }
    values = haproxy.parse_stat(HAPROXY_STAT)
    assert values[member("web-1")] == 2
    assert values[member("web-2")] == 3
    assert values[series_name("haproxy_member_queue", member="web-2")] == 3
    assert values["haproxy_queue"] == 3
    assert values["haproxy_frontend_sessions"] == 1
    assert values[series_name("haproxy_answers_total", status="5xx")] == 1
    assert bare(values) <= metric_names("HAProxy")


def test_redis_reports_memory_hits_and_calls() -> None:
    values = redis.parse(REDIS_INFO)
    assert values == {
        "redis_clients": 2,
        "redis_memory_used_bytes": 1048576,
        "redis_memory_limit_bytes": 10485760,
        "redis_commands_total": 17,
        "redis_hits_total": 5,
        "redis_misses_total": 1,
        series_name("redis_calls_total", command="get"): 6,
        series_name("redis_call_seconds_total", command="get"): pytest.approx(30e-6),
        series_name("redis_keys", database="0"): 12,
    }
    assert bare(values) <= metric_names("Redis")


def test_openldap_reports_operations_threads_and_pages() -> None:
    values = openldap.read(LDAP_ENTRIES)
    assert values == {
        series_name("openldap_initiated_total", operation="search"): 5,
        series_name("openldap_completed_total", operation="search"): 4,
        "openldap_connections": 2,
        "openldap_threads_limit": 16,
        "openldap_pages_limit": 2048,
        "openldap_pages_used": 15,
    }
    assert bare(values) <= metric_names("OpenLDAP")


@pytest.mark.parametrize("page", ["", "<html>", "BusyWorkers: many\n"])
def test_what_is_no_status_page_is_a_failure(page: str) -> None:
    with pytest.raises(ScrapeError):
        httpd.parse(page, {})
    with pytest.raises(ScrapeError):
        nginx.parse(page)
    with pytest.raises(ScrapeError):
        haproxy.parse_info(page)
    with pytest.raises(ScrapeError):
        haproxy.parse_stat(page)
    with pytest.raises(ScrapeError):
        redis.parse(page)


def test_a_table_with_an_endless_field_is_refused() -> None:
    with pytest.raises(ScrapeError, match="must be a CSV table, got field larger"):
        haproxy.parse_stat(f"# pxname,svname\nback,{'x' * 140_000}\n")


def test_a_number_of_a_collector_without_end_is_passed_over() -> None:
    counts = GcCounts()
    counts.take(f"[1ns][info][gc,init] Heap Max Capacity: {'9' * 5_000}M")
    assert counts.limit is None


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (b"+PO", "timed out before the complete response arrived"),
        (b"$9000000000\r\n", "must be a response of Redis"),
        (b"$--5\r\n", "must be a response of Redis"),
        (b"+" + b"x" * 5000, "must be a response of Redis"),
    ],
    ids=["drips", "large", "no number", "long"],
)
def test_answers_of_redis_are_bounded(first: bytes, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "_TIMEOUT_S", 0.2 if words.startswith("timed out") else PATIENCE_S)
    with dripping(first) as address, pytest.raises(ScrapeError, match=words):
        redis.ask_redis(address, "PING")


def bare(values: dict[str, float]) -> set[str]:
    return {name.partition("{")[0] for name in values}
