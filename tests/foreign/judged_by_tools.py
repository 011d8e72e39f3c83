"""Load generators run for some seconds. `towtank judge` reads their result files, and must report the values that the
generators print.

This file is not part of the ordinary tests: `make judge` gets JMeter from Maven and k6 by Go, and runs this file.
`make bench-peers` installs hey, vegeta, oha and Locust. A test is skipped if its tool is missing.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from jmeter_plans import group, request, whole
from own_application import has_database, own_database

import towtank
from towtank.engine import binary
from towtank.foreign import read_foreign

ROOT = Path(__file__).parents[2]
JMETER = Path(os.environ.get("TOWTANK_JMETER", ".venv/jmeter")).resolve()
K6 = Path(os.environ.get("TOWTANK_K6", ".venv/k6")).resolve()
_PLACES = (str(K6), str(ROOT / ".venv" / "benches" / "bin"), os.environ.get("PATH", os.defpath))
_WITHIN_S = 120
_SHARES = (50, 90, 95, 99)


def run(*words: str, folder: Path, text: str | None = None, **environment: str) -> str:
    """Run a tool in a folder, and return what it prints. The test is skipped if the tool is missing."""
    program = shutil.which(words[0], path=os.pathsep.join(_PLACES))
    if program is None:
        pytest.skip(f"{words[0]} is missing")
    done = subprocess.run(
        [program, *words[1:]],
        cwd=folder,
        input=text,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=_WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Yield the address of a server with exponential service times of 2 ms."""
    command = [str(binary()), "null-server", "--work", "2", "--work-variation", "exponential", "--until-stdin-closes"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        listening = re.fullmatch(r"listening on (\S+)\n", process.stdout.readline())
        assert listening
        yield listening[1]
        process.stdin.close()


def elapsed_ms(path: Path) -> np.ndarray:
    """Return the response times of all requests of a file, also of those before the steady window. [ms]"""
    requests = read_foreign(path).requests
    assert requests is not None
    return 1e3 * requests.elapsed_s


def percentiles(judged: towtank.Judged) -> list[float]:
    """Return p50, p90, p95 and p99 of a file. [ms]"""
    return [float(getattr(judged.response_time_ms, f"p{share}")) for share in _SHARES]


def near(elapsed: np.ndarray, percentiles_ms: dict[int, float]) -> None:
    """Compare percentiles with those that the tool prints.

    The tool and Towtank may define a percentile as different, neighbouring times.
    """
    ordered = np.sort(elapsed)
    for share, value in percentiles_ms.items():
        place = share / 100 * len(ordered)
        low, high = ordered[max(0, math.floor(place) - 2)], ordered[min(len(ordered) - 1, math.ceil(place) + 1)]
        assert 0.97 * low <= value <= 1.03 * high


@pytest.mark.parametrize("form", ["json", "csv"])
def test_k6(form: str, address: str, tmp_path: Path) -> None:
    script = (
        "import http from 'k6/http';\n"
        "export const options = {scenarios: {all: {executor: 'constant-arrival-rate', rate: 100, timeUnit: '1s', "
        "duration: '5s', preAllocatedVUs: 50}}, "
        "summaryTrendStats: ['avg', 'med', 'p(90)', 'p(95)', 'p(99)', 'count']};\n"
        f"export default function () {{ http.get('http://{address}/'); }}\n"
    )
    (tmp_path / "script.js").write_text(script)
    out = ["--out", f"{form}=requests", "--summary-export", "summary.json"]
    words = ["run", "--quiet", "--no-usage-report", *out, "script.js"]
    run("k6", *words, folder=tmp_path, K6_CSV_TIME_FORMAT="rfc3339_nano")
    metrics = json.loads((tmp_path / "summary.json").read_text())["metrics"]
    printed = metrics["http_req_duration"]
    judged = towtank.judge(tmp_path / "requests")
    assert (judged.requests, judged.errors) == (printed["count"], metrics["http_req_failed"]["passes"])
    elapsed = elapsed_ms(tmp_path / "requests")
    assert elapsed.mean() == pytest.approx(printed["avg"], rel=1e-4)
    near(
        elapsed, dict(zip(_SHARES, (printed["med"], printed["p(90)"], printed["p(95)"], printed["p(99)"]), strict=True))
    )


@pytest.mark.parametrize("form", ["csv", "xml"])
def test_jmeter(form: str, address: str, tmp_path: Path) -> None:
    if not (JMETER / "libraries").is_dir():
        pytest.skip("JMeter is missing")
    host, port = address.split(":")
    sampler = request("/", "", host=host, port=port, method="GET")
    (tmp_path / "plan.jmx").write_text(whole(group(sampler), 100), encoding="utf-8")
    java = [
        "java",
        "-Xmx256m",
        f"-Djmeter.home={JMETER}",
        "-cp",
        f"{JMETER}/libraries/*",
        "org.apache.jmeter.NewDriver",
    ]
    saved = f"-Jjmeter.save.saveservice.output_format={form}"
    text = run(*java, "-n", "-t", "plan.jmx", "-l", "requests", "-j", "log", saved, folder=tmp_path)
    printed = re.findall(r"^summary =\s+(\d+) in .* Avg:\s+(\d+) .* Err:\s+(\d+)", text, re.MULTILINE)[-1]
    judged = towtank.judge(tmp_path / "requests")
    assert (judged.requests, judged.errors) == (int(printed[0]), int(printed[2]))
    assert elapsed_ms(tmp_path / "requests").mean() == pytest.approx(int(printed[1]), abs=1.0)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_vegeta(form: str, address: str, tmp_path: Path) -> None:
    attack = ["attack", "-rate", "100", "-duration", "5s", "-output", "results"]
    run("vegeta", *attack, folder=tmp_path, text=f"GET http://{address}/\n")
    printed = json.loads(run("vegeta", "report", "-type=json", "results", folder=tmp_path))
    run("vegeta", "encode", "--to", form, "--output", "requests", "results", folder=tmp_path)
    judged = towtank.judge(tmp_path / "requests")
    assert (judged.requests, judged.errors) == (printed["requests"], 0)
    elapsed = elapsed_ms(tmp_path / "requests")
    assert elapsed.mean() == pytest.approx(printed["latencies"]["mean"] / 1e6, rel=1e-4)
    near(elapsed, {share: printed["latencies"][f"{share}th"] / 1e6 for share in _SHARES})


def test_hey(address: str, tmp_path: Path) -> None:
    text = run("hey", "-n", "600", "-c", "3", "-o", "csv", f"http://{address}/", folder=tmp_path)
    (tmp_path / "requests").write_text(text)
    judged = towtank.judge(tmp_path / "requests")
    assert (judged.form, judged.requests, judged.errors) == ("hey CSV", 600, 0)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_oha(form: str, address: str, tmp_path: Path) -> None:
    words = ["-n", "600", "-c", "3", "--no-tui", "--output-format", form, f"http://{address}/"]
    text = run("oha", *words, folder=tmp_path)
    (tmp_path / "requests").write_text(text)
    judged = towtank.judge(tmp_path / "requests")
    assert (judged.form, judged.requests, judged.errors) == (f"oha {form.upper()}", 600, 0)
    if form == "json":
        printed = json.loads(text)
        assert float(judged.response_time_ms.mean) == pytest.approx(1e3 * printed["summary"]["average"], rel=1e-4)
        assert percentiles(judged) == pytest.approx(
            [1e3 * printed["latencyPercentiles"][f"p{share}"] for share in _SHARES]
        )


def test_locust(address: str, tmp_path: Path) -> None:
    (tmp_path / "users.py").write_text(
        "from locust import HttpUser, constant, task\n\n\n"
        f"class User(HttpUser):\n    host = 'http://{address}'\n    wait_time = constant(0.02)\n\n"
        "    @task\n    def home(self):\n        self.client.get('/')\n"
    )
    words = ["-f", "users.py", "--headless", "-u", "3", "-r", "3", "-t", "8s", "--csv", "run", "--csv-full-history"]
    run("locust", *words, folder=tmp_path)
    rows = csv.DictReader((tmp_path / "run_stats.csv").read_text().splitlines())
    (printed,) = (row for row in rows if row["Name"] == "Aggregated")
    for name in ("stats", "stats_history"):
        judged = towtank.judge(tmp_path / f"run_{name}.csv")
        # The last rows of both files may be a second apart.
        assert judged.requests == pytest.approx(int(printed["Request Count"]), rel=0.2)
        assert judged.errors == int(printed["Failure Count"])
        if name == "stats":
            assert judged.requests == int(printed["Request Count"])
            assert percentiles(judged) == [float(printed[f"{share}%"]) for share in _SHARES]


def test_fio(tmp_path: Path) -> None:
    words = ["--name=read", "--filename=data", "--size=8m", "--bs=4k", "--number_ios=500", "--ioengine=psync"]
    run("fio", *words, "--rw=randread", "--output-format=json,normal", "--output=requests", folder=tmp_path)
    text = (tmp_path / "requests").read_text()
    printed = re.search(r"issued rwts: total=(\d+),", text)
    unit, mean = re.search(r"^ +lat \((\w+)\): .*avg= *([\d.]+),", text, re.MULTILINE).groups()  # type: ignore[union-attr]
    judged = towtank.judge(tmp_path / "requests")
    assert printed is not None
    assert judged.requests == int(printed[1])
    per_ms = {"nsec": 1e6, "usec": 1e3, "msec": 1.0}[unit]
    assert float(judged.response_time_ms.mean) == pytest.approx(float(mean) / per_ms, rel=1e-3)


@pytest.mark.skipif(not has_database(), reason="needs the PostgreSQL server programs")
def test_pgbench(tmp_path: Path) -> None:
    with own_database() as folder:
        folder.chmod(0o711)
        place = {"PGHOST": str(folder), "PGUSER": "postgres", "PGDATABASE": "postgres"}
        place["PGPORT"] = next(folder.glob(".s.PGSQL.*[0-9]")).name.rpartition(".")[2]
        run("pgbench", "-i", "-q", "-s", "1", folder=tmp_path, **place)
        log = ["--log", "--log-prefix=requests"]
        text = run("pgbench", "-n", "-c", "2", "-R", "60", "-T", "5", *log, folder=tmp_path, **place)
    count = int(re.search(r"actually processed: (\d+)", text)[1])  # type: ignore[index]
    mean = float(re.search(r"latency average = ([\d.]+) ms", text)[1])  # type: ignore[index]
    (file,) = tmp_path.glob("requests.*")
    judged = towtank.judge(file)
    assert (judged.requests, judged.errors) == (count, 0)
    assert elapsed_ms(file).mean() == pytest.approx(mean, abs=1e-3)
