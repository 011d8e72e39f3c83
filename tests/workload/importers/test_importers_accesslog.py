from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from towtank.workload.importers import thinking
from towtank.workload.importers.accesslog import paths as accesslog_paths
from towtank.workload.importers.accesslog.lines import Hit, read_access_log
from towtank.workload.importers.accesslog.paths import Key, Patterns, pattern_of
from towtank.workload.importers.accesslog.sessions import LEAST_GAP, Sessions
from towtank.workload.importers.draft import ImportNotes, seconds
from towtank.workload.importers.thinking import fit_gaps

Importer = Callable[..., Any]

START = 1_767_261_600  # 2026-01-01 10:00 UTC, in seconds since 1970


def line(second: float, request: str, client: str = "10.0.0.1", status: int = 200, end: str = "") -> str:
    at = datetime.fromtimestamp(START + int(second), UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
    return f'{client} - - [{at}] "{request} HTTP/1.1" {status} 10 "-" "Agent"{end}'


def hit(second: float, url: str = "/x", client: str = "a", **more: Any) -> Hit:
    return Hit(1, client, "", START + int(second), more.pop("method", "GET"), url, more.pop("status", 200), **more)


@pytest.mark.parametrize(
    ("text", "response_time", "ends"),
    [
        ('1.2.3.4 - - [01/Jan/2026:11:00:00 +0100] "GET /x HTTP/1.1" 200 10', None, False),
        ('1.2.3.4 - me [01/Jan/2026:10:00:00 +0000] "GET /x HTTP/1.1" 200 - "-" "A \\"B\\""', None, False),
        ('1.2.3.4 - - [01/Jan/2026:05:00:00 -0500] "GET /x HTTP/1.1" 200 10 "-" "A" 250000', 0.25, False),
        ('1.2.3.4 - - [01/Jan/2026:10:00:00 +0000] "GET /x HTTP/1.1" 200 10 "-" "A" 0.250', 0.25, True),
        ('1.2.3.4 - an [a] b [01/Jan/2026:10:00:00 +0000] "GET /x HTTP/1.1" 200 10', None, False),
        ('host:80 1.2.3.4 - - [01/Jan/2026:10:00:00 +0000] "GET /x" 200 10 "-" "A"', None, False),
    ],
)
def test_lines(text: str, response_time: float | None, ends: bool, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(text + "\n")
    (found,) = read_access_log(path, ImportNotes("log"))
    assert (found.client, found.time, found.method, found.url, found.status) == ("1.2.3.4", START, "GET", "/x", 200)
    assert (found.response_time, found.ends) == (response_time, ends)
    assert found.end - found.start == pytest.approx(response_time or 0.0)


def test_compressed_logs_and_lines_that_are_none(tmp_path: Path, import_file: Importer) -> None:
    path = tmp_path / "access.log.gz"
    lines = [line(0, "GET /a"), "nonsense", line(5, "GET /a"), line(6, "\\x16\\x03 /x"), line(9, "GET /a")]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    found = import_file("accesslog", path)
    assert found.noted("line") == [2]
    assert found.workload["groups"]["users"]["loop"]["mix"] == {"a": 100}


@pytest.mark.parametrize(
    ("url", "parts", "row"),
    [
        ("/", ("",), ()),
        ("/orders/17/items", ("orders", None, "items"), ("17",)),
        ("/u/0b5c3b0e-6f0e-4a7a-9a3c-0123456789ab", ("u", None), ("0b5c3b0e-6f0e-4a7a-9a3c-0123456789ab",)),
        ("/h/deadbeef01", ("h", None), ("deadbeef01",)),
        ("/words/decade/v2", ("words", "decade", "v2"), ()),
        ("/d/2026-01-31", ("d", None), ("2026-01-31",)),
    ],
)
def test_identifiers_become_parameters(url: str, parts: tuple[str | None, ...], row: tuple[str, ...]) -> None:
    assert pattern_of("GET", url) == (Key("GET", parts), row)


def test_many_names_in_one_place_become_a_parameter() -> None:
    patterns = Patterns()
    for number in range(accesslog_paths.ALIKE_AT_MOST + 1):
        patterns.add(hit(0, f"/shop/{'abcdefghijklmnopqrstuvwxyz'[number]}/view"))
    patterns.add(hit(0, "/about"))
    patterns.collapse()
    assert {key.parts: pattern.count for key, pattern in patterns.patterns.items()} == {
        ("shop", None, "view"): accesslog_paths.ALIKE_AT_MOST + 1,
        ("about",): 1,
    }
    # Different values at this position of the path have been merged into a pattern. Later values join this pattern.
    key = patterns.add(hit(0, "/shop/zzz/view"))
    assert patterns.patterns[key].rows[("zzz",)] == 1


def test_memory_is_bounded_by_the_number_of_patterns() -> None:
    patterns = Patterns()
    chance = random.Random(3)
    for _ in range(6000):
        path = "/".join("".join(chance.choices("ghijk", k=3)) for _ in range(chance.randint(1, 6)))
        patterns.add(hit(0, f"/{path}?{chance.choice('mnopqr')}={chance.random()}"))
    assert len(patterns.patterns) <= accesslog_paths.PATTERNS_AT_MOST
    assert all(len(pattern.rows) <= accesslog_paths.ROWS_AT_MOST for pattern in patterns.patterns.values())
    assert sum(pattern.count for pattern in patterns.patterns.values()) + patterns.forgotten == 6000


def test_a_session_ends_after_half_an_hour_of_silence() -> None:
    sessions = Sessions(Patterns())
    for second in (0, 10, 1810, 3609, 7300):
        sessions.add(hit(second))
    sessions.add(hit(7301, client="b"))
    sessions.finish()
    # 1810 and 3609 s are one second less than half an hour apart, so the session continues. 10 and 1810 s are exactly
    # half an hour apart, so a new session begins.
    assert (sessions.ended, sessions.pages) == (4, 6)
    assert sessions.gap_count == 2
    assert sessions.gap_sum == pytest.approx(10 + 1799)
    assert sessions.active == {}


def test_gaps_begin_when_the_answer_is_there() -> None:
    by_start, by_end = Sessions(Patterns()), Sessions(Patterns())
    for second in (0, 10):
        by_start.add(hit(second, response_time=2.0))
        by_end.add(hit(second + 2, response_time=2.0, ends=True))
    assert by_start.gap_sum == by_end.gap_sum == pytest.approx(8.0)


def test_static_files_belong_to_their_page(import_text: Importer) -> None:
    lines = []
    for number in range(10):
        lines += [line(number * 10, "GET /home"), line(number * 10, "GET /app.js")]
        lines += [line(number * 10, "GET /rare.css")] * (number < 2)
    found = import_text("accesslog", "\n".join(lines))
    assert found.workload["transactions"] == {
        "home": [
            {"get": "/home", "name": "GET /home", "check": {"status": 200}},
            {"get": "/app.js", "on_failure": "go_on"},
        ]
    }
    assert found.noted("/rare.css") == [1]


def test_the_mix_is_the_share_of_pages(import_text: Importer) -> None:
    requests = ["GET /a"] * 6 + ["GET /b/1?q=x"] * 2 + ["GET /b/2?q=y%20z"] + ["POST /c"] + ["GET /gone"]
    lines = [line(i * 4, request, status=404 if "gone" in request else 200) for i, request in enumerate(requests)]
    found = import_text("accesslog", "\n".join(lines))
    assert found.workload["groups"]["users"]["loop"]["mix"] == {"a": 60, "b_by_q": 30, "post_c": 10}
    assert found.workload["data"]["b_by_q"] == {
        "columns": ["b_id", "q", "weight"],
        "rows": [["1", "x", 2], ["2", "y z", 1]],
        "weight": "weight",
    }
    assert found.requests()[1]["get"] == "/b/${b_by_q.b_id}"
    assert found.requests()[1]["query"] == {"q": "${b_by_q.q}"}
    assert found.noted("GET /gone") == [11]
    assert found.noted("POST /c: body") == [10]


def test_think_times_of_the_example(import_file: Importer) -> None:
    found = import_file("accesslog", "access.log")
    fitted = found.draft.findings["think_times"]
    # The true think times are exponential with mean 8 s. About 170 of them are longer than the minimum gap between
    # transactions.
    assert fitted["chosen"] == "exponential"
    (exponential,) = [fit for fit in fitted["fits"] if fit["distribution"] == "exponential"]
    assert exponential["parameters"]["mean_s"] == pytest.approx(8.0, rel=0.25)
    assert exponential["ks_p"] > 0.05
    assert found.draft.findings["sessions"]["count"] == 41


def gaps_of(name: str, size: int = 800) -> Any:
    generator = np.random.default_rng(11)
    return {
        "exponential": LEAST_GAP + generator.exponential(6.0, size),
        "uniform": generator.uniform(2.0, 9.0, size),
        "normal": generator.normal(12.0, 2.0, size),
        "lognormal": np.exp(generator.normal(3.0, 0.4, size)),
    }[name]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("exponential", {"mean_s": 6.0}),
        ("uniform", {"min_s": 2.0, "max_s": 9.0}),
        ("normal", {"mean_s": 12.0, "sd_s": 2.0}),
        ("lognormal", {"log_mean": 3.0, "log_sd": 0.4}),
    ],
)
def test_a_distribution_is_found_again(name: str, parameters: dict[str, float]) -> None:
    fits = {fit.name: fit for fit in fit_gaps(gaps_of(name), LEAST_GAP)}
    # A truncated lognormal distribution resembles other distributions. The importer chooses only among those that the
    # workload format has.
    best = next(fit for fit in fits.values() if fit.pause is not None or name == "lognormal")
    assert best.name == name
    # The tolerance of 10 % is two to three standard errors of parameters that are estimated from 800 gaps.
    assert best.parameters == pytest.approx(parameters, rel=0.1)
    assert best.p > 0.05
    assert all(fit.p < 0.05 for fit in fits.values() if fit.name in {"uniform", "exponential"} - {name})
    assert (best.pause is None) == (name == "lognormal")


def test_the_statistic_is_that_of_scipy() -> None:
    from scipy import stats  # noqa: PLC0415

    gaps = gaps_of("normal", 200)
    fit = next(fit for fit in fit_gaps(gaps, LEAST_GAP) if fit.name == "exponential")
    shifted = stats.expon(LEAST_GAP, fit.parameters["mean_s"])
    assert fit.statistic == pytest.approx(stats.kstest(gaps, shifted.cdf).statistic, abs=1e-12)


def test_p_is_uniform_under_the_hypothesis() -> None:
    """The p-values of the bootstrap must be uniform. Kolmogorov's tables would give p near 1, because the parameters
    are fitted to the same data.
    """
    generator = np.random.default_rng(4)
    values = []
    for _ in range(30):
        gaps = np.sort(LEAST_GAP + generator.exponential(5.0, 40))
        values.append(thinking._fit("exponential", thinking._FAMILIES["exponential"], gaps, LEAST_GAP, generator).p)
    # Three standard deviations of the mean of 30 uniform values are 3 x 0.053.
    assert 0.34 < float(np.mean(values)) < 0.66


@pytest.mark.parametrize(
    ("url", "parts"),
    [("/projects/xdotool/", ("projects", "xdotool", "")), ("/projects/xdotool", ("projects", "xdotool"))],
)
def test_slashes_at_the_end_are_kept(url: str, parts: tuple[str, ...]) -> None:
    assert pattern_of("GET", url) == (Key("GET", parts), ())


def test_pages_with_and_without_a_slash_are_two(import_text: Importer) -> None:
    lines = [line(i, "GET /p/x/") for i in range(9)] + [line(20, "GET /p/x", status=301)]
    found = import_text("accesslog", "\n".join(lines))
    assert [(step["get"], step["check"]) for step in found.requests()] == [
        ("/p/x/", {"status": 200}),
        ("/p/x", {"status": 301}),
    ]


def test_names_that_come_twice_in_a_query_are_sent_twice(import_text: Importer) -> None:
    found = import_text("accesslog", "\n".join([line(0, "GET /s?q=a&q=2&r=1"), line(5, "GET /s?q=a&q=2&r=1")]))
    assert found.requests()[0]["get"] == "/s?q=a&q=2&r=1"
    found = import_text(
        "accesslog", "\n".join([line(0, "GET /s?q=a&q=2"), line(5, "GET /s?q=b c&q=3".replace(" c", "%20c"))])
    )
    assert found.requests()[0]["get"] == "/s?q=${s_by_q_q.q|url}&q=${s_by_q_q.q_2|url}"


@pytest.mark.parametrize(
    ("logged", "path"),
    [('/a\\"b', "/a%22b"), ("/a\\x22b", "/a%22b"), ("/\\xc3\\xa4", "/%C3%A4"), ("/a\\\\b", "/a%5Cb")],
)
def test_characters_that_the_server_escaped_are_those_of_the_url(logged: str, path: str, import_text: Importer) -> None:
    found = import_text("accesslog", "\n".join([line(0, f"GET {logged}"), line(5, f"GET {logged}")]))
    assert found.requests()[0]["get"] == path


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('10.0.0.1 - ann [01/Jan/2026:10:00:00 +0000] "GET /x HTTP/1.1" 200 10 "-" "A"', "user"),
        ('shop:80 10.0.0.1 - - [01/Jan/2026:10:00:00 +0000] "GET /x HTTP/1.1" 200 10 "-" "A"', "vhost"),
        ('10.0.0.1 - - [01/Jan/2026:10:00:00 +0000] "GET /x HTTP/1.1" 200 10 "-" "A" "more" 0.1', "rest"),
    ],
)
def test_fields_that_a_workload_does_not_have_are_noted(text: str, field: str, import_text: Importer) -> None:
    assert import_text("accesslog", f"{text}\n").noted(f"field {field}") == [1]


def test_files_without_a_page_and_names_without_a_value_are_noted(import_text: Importer) -> None:
    found = import_text(
        "accesslog", "\n".join([line(0, "GET /a.css", "b"), line(1, "GET /x?flag"), line(9, "GET /x?flag")])
    )
    assert found.noted("static files without a page") == [1]
    assert found.noted("name without `=`") == [2, 3]


def test_the_users_are_those_that_the_workload_needs(import_text: Importer) -> None:
    """With the pauses of the workload, the estimated number of users must produce the request rate of the log."""
    generator = random.Random(3)
    lines = []
    for client in range(60):
        at = generator.uniform(0, 30)
        while at < 1800:
            lines.append((at, line(at, "GET /x", f"10.0.0.{client}")))
            at += generator.expovariate(1 / 8)
    found = import_text("accesslog", "\n".join(text for _, text in sorted(lines)))
    findings = found.draft.findings
    pause = findings["think_times"]["pause_mean_s"]
    assert found.workload["groups"]["users"]["loop"]["think"] == {"exponential": seconds(pause)}
    assert findings["load"]["users_at_peak"] == pytest.approx(findings["load"]["rate_at_peak_per_s"] * pause, rel=1e-3)
    # The true mean is 8 s. With about 13,000 gaps, 1.96 standard errors are 0.14 s.
    assert pause == pytest.approx(8, abs=0.3)
    assert findings["think_times"]["fitted_to"] > thinking.GAPS_AT_MOST


def test_what_the_last_numbers_are_taken_for_is_said(import_text: Importer) -> None:
    """The import states the meaning that it assumes for the last numbers of the lines.

    Otherwise a user could overlook that a log has whole seconds (`%T`), not microseconds.
    """
    whole = import_text("accesslog", f"{line(0, 'GET /x', end=' 250000')}\n{line(9, 'GET /x', end=' 350000')}\n")
    assert whole.draft.findings["load"]["response_mean_s"] == pytest.approx(0.3)
    assert any(
        text.startswith("response time: 300 ms on average over 2 pages") for text in whole.draft.findings["summary"]
    )
    none = import_text("accesslog", f"{line(0, 'GET /x')}\n{line(9, 'GET /x')}\n")
    assert none.draft.findings["load"]["response_mean_s"] is None
    assert not any("response time" in text for text in none.draft.findings["summary"])


@pytest.mark.parametrize(("end", "every"), [(" 250000", 1), (" 250000", 3), (" 0.250", 5), ("", 1)])
def test_pages_without_a_response_time_are_counted(end: str, every: int, import_text: Importer) -> None:
    """Some of 30 pages have no response time. The 30 style sheets, which have none either, are not pages."""
    text = [line(9 * page, "GET /x", end=end if page % every == 0 else "") for page in range(30)]
    text += [line(9 * page, "GET /x.css") for page in range(30)]
    found = import_text("accesslog", "\n".join(sorted(text)))
    lacking = sum(not end or page % every > 0 for page in range(30))
    expected = [f"unknown for {lacking} pages: their think times include it"] if lacking else []
    assert [why for _, what, why in found.notes() if what == "response times"] == expected


@pytest.mark.parametrize("url", ["http://[bad/x", "http://a\N{ACCOUNT OF}b/x", "https://[::1/x"])
def test_an_address_that_is_none_is_left_out(url: str, import_text: Importer) -> None:
    found = import_text("accesslog", "\n".join([line(0, "GET /a"), line(5, f"GET {url}"), line(9, "GET /a")]))
    assert found.noted("request") == [2]
    assert [step["get"] for step in found.requests()] == ["/a"]


@pytest.mark.parametrize(("url", "path"), [("//admin/x", "//admin/x"), ("//[x", "//%5Bx"), ("//", "//")])
def test_a_path_that_begins_with_two_slashes_names_no_host(url: str, path: str, import_text: Importer) -> None:
    found = import_text("accesslog", "\n".join([line(0, f"GET {url}"), line(9, f"GET {url}")]))
    assert [step["get"] for step in found.requests()] == [path]


@pytest.mark.parametrize(("end", "response_s"), [("", 0.0), (" 2000000", 2.0), (" 0.500", 0.5)])
def test_the_users_at_the_peak_obey_littles_law(end: str, response_s: float, import_text: Importer) -> None:
    """The number of users at the peak is the request rate times the sum of response time and pause.

    At first three clients request a page every 10 s, later only one client, so the peak is 0.3 pages/s. A user waits
    for a page and then pauses, 10 s in total.
    """
    times = [(at, client) for at in range(0, 600, 10) for client in (1, 2, 3) if client == 1 or at < 300]
    lines = [line(at + client, "GET /x", f"10.0.0.{client}", end=end) for at, client in times]
    findings = import_text("accesslog", "\n".join(lines)).draft.findings
    assert findings["load"]["rate_at_peak_per_s"] == pytest.approx(0.3, rel=0.05)
    pause = findings["think_times"]["pause_mean_s"]
    assert pause == pytest.approx(10 - response_s, rel=0.05)
    users = findings["load"]["rate_at_peak_per_s"] * (response_s + pause)
    assert findings["load"]["users_at_peak"] == pytest.approx(users, rel=0.01)
    assert findings["sessions"]["count"] == 3
    assert findings["sessions"]["pages_mean"] == 40
    assert findings["load"]["response_mean_s"] == (response_s if end else None)


@pytest.mark.parametrize(
    ("visits", "requested", "kept", "noted"),
    [(10, 5, True, False), (10, 4, False, True), (10, 1, False, False), (9, 4, False, False), (9, 5, True, False)],
)
def test_a_file_of_half_of_the_visits_belongs_to_its_page(
    visits: int, requested: int, kept: bool, noted: bool, import_text: Importer
) -> None:
    """A file that fewer than half of the visits requested is left out.

    From ten visits on, a note states this if more than one visit requested the file.
    """
    text = []
    for visit in range(visits):
        text += [line(20 * visit, "GET /x"), *([line(20 * visit, "GET /some.css")] if visit < requested else [])]
    found = import_text("accesslog", "\n".join(text))
    assert (["/some.css" in str(step) for step in found.requests()] == [False, True]) is kept
    whys = [why for _, what, why in found.notes() if "some.css" in what]
    assert whys == [f"left out: only {requested} of {visits} visits requested the file"] * noted
