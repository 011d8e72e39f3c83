"""Runs other load generators: loads a page with a generator, and reads its report.

Every generator reports the number of requests; some also report p50, p99, p99.9 and maximum of the response time [s].
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import harness

K6_SCRIPT = """import http from 'k6/http';
export const options = __OPTIONS__;
export default function () { http.get('__URL__'); }
"""
LOCUST_FILE = """from locust import FastHttpUser, constant, constant_throughput, task

class User(FastHttpUser):
    wait_time = __WAIT__

    @task
    def page(self):
        self.client.get("/")
"""


@dataclass(frozen=True)
class Case:
    """Load that a generator must produce, for `seconds` seconds.

    `rate` is in requests per second; if it is None, each connection sends its next request after every answer.
    """

    address: str
    connections: int
    seconds: int
    rate: int | None = None

    @property
    def url(self) -> str:
        """URL of the page to load."""
        return f"http://{self.address}/"


@dataclass(frozen=True)
class Report:
    """Result of a generator: process output and CPU time, number of requests, and reported response times. [s]"""

    spent: harness.Spent
    requests: int
    times_s: dict[str, float] = field(default_factory=dict)

    @property
    def cpu_us_per_request(self) -> float:
        """CPU time of the whole process per request. [us]"""
        return self.spent.cpu_s / self.requests * 1e6


@dataclass(frozen=True)
class Peer:
    """Load generator.

    Attributes
    ----------
    drive : callable
        Function that runs the generator for a case, with files in a scratch folder.
    hint : str
        Command that installs the generator.
    has_rate : bool
        True if the generator can send requests at a given rate.
    """

    drive: Callable[[Case, Path], Report]
    hint: str
    has_rate: bool


def _path(name: str) -> str:
    found = harness.program(name)
    if found is None:
        raise harness.Skipped(f"{name} is not installed ({PEERS[name].hint})")
    return found


def _number(pattern: str, text: str, what: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        raise SystemExit(f"error: no {what} in this output:\n{text[-2000:]}")
    return float(found[1])


def minimal(case: Case, folder: Path) -> Report:
    """Compile and run `minimal_client.c`, a client that does the least work per request."""
    compiler = harness.program("cc")
    if compiler is None:
        raise harness.Skipped(f"no C compiler is installed ({PEERS['minimal'].hint})")
    binary = folder / "minimal_client"
    subprocess.run([compiler, "-O2", "-o", str(binary), str(harness.HERE / "minimal_client.c")], check=True)
    host, _, port = case.address.rpartition(":")
    spent = harness.spend([str(binary), host, port, str(case.connections), str(case.seconds), "/"])
    return Report(spent, int(spent.output))


def wrk(case: Case, _folder: Path) -> Report:
    """Run `wrk` with one thread."""
    options = ["-t", "1", "-c", str(case.connections), "-d", f"{case.seconds}s", "--latency"]
    spent = harness.spend([_path("wrk"), *options, case.url])
    times = {}
    for name, label in (("p50", r"50%"), ("p99", r"99%")):
        found = re.search(rf"^\s+{label}\s+([\d.]+)(us|ms|s)$", spent.output, re.MULTILINE)
        if found:
            times[name] = float(found[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[found[2]]
    return Report(spent, int(_number(r"(\d+) requests in", spent.output, "count of requests")), times)


def oha(case: Case, _folder: Path) -> Report:
    """Run `oha`. With a rate, oha corrects for coordinated omission."""
    rate = ["-q", str(case.rate), "--latency-correction"] if case.rate else []
    options = ["--no-tui", "-z", f"{case.seconds}s", "-c", str(case.connections), "--output-format", "json", *rate]
    spent = harness.spend([_path("oha"), *options, case.url])
    document = json.loads(spent.output)
    percentiles, summary = document["latencyPercentiles"], document["summary"]
    times = {name: percentiles[name] for name in ("p50", "p99", "p99.9")} | {"max": summary["slowest"]}
    return Report(spent, sum(document["statusCodeDistribution"].values()), times)


def vegeta(case: Case, folder: Path) -> Report:
    """Run `vegeta`, with one worker per connection if the case has no rate."""
    out = folder / "vegeta.bin"
    (folder / "targets").write_text(f"GET {case.url}\n")
    limit = ["-rate", str(case.rate)] if case.rate else ["-rate", "0", "-max-workers", str(case.connections)]
    options = ["-targets", str(folder / "targets"), "-duration", f"{case.seconds}s", "-output", str(out), *limit]
    spent = harness.spend([_path("vegeta"), "attack", *options])
    buckets = subprocess.run(
        [_path("vegeta"), "report", "-type", "json", str(out)], check=True, capture_output=True, text=True
    )
    document = json.loads(buckets.stdout)
    times = {name: document["latencies"][key] / 1e9 for name, key in (("p50", "50th"), ("p99", "99th"), ("max", "max"))}
    return Report(spent, document["requests"], times)


def k6(case: Case, folder: Path) -> Report:
    """Run `k6`. Requests that k6 drops, because no user is free, are not counted."""
    options: dict[str, object] = {"summaryTrendStats": ["med", "p(99)", "p(99.9)", "max"]}
    if case.rate:
        arrivals = {"executor": "constant-arrival-rate", "rate": case.rate, "duration": f"{case.seconds}s"}
        options["scenarios"] = {"load": {**arrivals, "preAllocatedVUs": case.connections, "maxVUs": 1000}}
    else:
        options |= {"vus": case.connections, "duration": f"{case.seconds}s"}
    script, summary = folder / "script.js", folder / "k6.json"
    script.write_text(K6_SCRIPT.replace("__OPTIONS__", json.dumps(options)).replace("__URL__", case.url))
    spent = harness.spend(
        [_path("k6"), "run", "--quiet", "--no-usage-report", "--summary-export", str(summary), str(script)]
    )
    metrics = json.loads(summary.read_text())["metrics"]
    names = {"p50": "med", "p99": "p(99)", "p99.9": "p(99.9)", "max": "max"}
    times = {name: metrics["http_req_duration"][key] / 1e3 for name, key in names.items()}
    return Report(spent, int(metrics["http_reqs"]["count"]), times)


def hey(case: Case, _folder: Path) -> Report:
    """Run `hey`. The rate option of `hey` is per connection."""
    rate = ["-q", str(case.rate / case.connections)] if case.rate else []
    options = ["-z", f"{case.seconds}s", "-c", str(case.connections), *rate]
    spent = harness.spend([_path("hey"), *options, case.url])
    times = {}
    for name, label in (("p50", "50"), ("p99", "99")):
        found = re.search(rf"{label}%+ in ([\d.]+) secs", spent.output)
        if found:
            times[name] = float(found[1])
    times["max"] = _number(r"Slowest:\s+([\d.]+) secs", spent.output, "slowest response")
    return Report(spent, int(_number(r"\[200\]\s+(\d+) responses", spent.output, "count of responses")), times)


def locust(case: Case, folder: Path) -> Report:
    """Run Locust with its faster HTTP client, in one process."""
    wait = f"constant_throughput({case.rate / case.connections})" if case.rate else "constant(0)"
    (folder / "locustfile.py").write_text(LOCUST_FILE.replace("__WAIT__", wait))
    options = ["--headless", "--only-summary", "--json", "-u", str(case.connections), "-r", str(case.connections)]
    options += ["-t", f"{case.seconds}s", "--host", f"http://{case.address}", "-f", str(folder / "locustfile.py")]
    spent = harness.spend([_path("locust"), *options])
    document = json.loads(spent.output[spent.output.index("[") :])[0]
    return Report(
        spent, document["num_requests"], _of_counts(document["response_times"], document["max_response_time"])
    )


def _of_counts(counts: dict[str, int], longest_ms: float) -> dict[str, float]:
    """Return quantiles of the response time [s] from Locust's counts, whose keys are response times [ms]."""
    ordered = sorted((float(time), count) for time, count in counts.items())
    total, found = sum(count for _, count in ordered), {"max": longest_ms / 1e3}
    for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)):
        seen = 0
        for time, count in ordered:
            seen += count
            if seen >= share * total:
                found[name] = time / 1e3
                break
    return found


PEERS: dict[str, Peer] = {
    "wrk": Peer(wrk, "apt-get install wrk", False),
    "minimal": Peer(minimal, "apt-get install gcc libc6-dev", False),
    "oha": Peer(oha, "make bench-peers", True),
    "hey": Peer(hey, "make bench-peers", True),
    "vegeta": Peer(vegeta, "make bench-peers", True),
    "k6": Peer(k6, "make bench-peers", True),
    "locust": Peer(locust, "make bench-peers", True),
}


def available(*, with_rate: bool = False) -> list[str]:
    """Return the names of the installed generators. For every missing generator, print the command that installs it."""
    names = []
    for name, peer in PEERS.items():
        needed = "cc" if name == "minimal" else name
        if with_rate and not peer.has_rate:
            continue
        if harness.program(needed):
            names.append(name)
        else:
            print(f"  skipped: {name} is not installed ({peer.hint})")
    return names


def drive(name: str, case: Case) -> Report:
    with tempfile.TemporaryDirectory(prefix="towtank-bench-") as folder:
        return PEERS[name].drive(case, Path(folder))
