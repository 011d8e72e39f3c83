"""Uses every public name of `towtank` and the attributes of its types. `mypy --strict` accepts it."""
# ruff: noqa: F841, RUF059, PTH201

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import towtank
from towtank import errors
from towtank.errors import (
    EngineError,
    Fault,
    MeasurementError,
    ModelError,
    ReportError,
    StudyError,
    TargetError,
    TowtankError,
)

WEB = {"classes": {"web": {"rate": "8 /s"}}, "stations": {"cpu": {"demand": {"web": "100 ms"}}}}

# ---- types: each attribute of the reference, in a variable of the documented type


def cheaper(it: towtank.Cheaper) -> None:
    configuration: str = it.configuration
    why_not: tuple[str, ...] = it.why_not


def checked_file(it: towtank.CheckedFile) -> None:
    file: str = it.file
    kind: str = it.kind
    faults: tuple[errors.Fault, ...] = it.faults
    valid: bool = it.valid
    for fault in faults:
        found: Fault = fault
        place: tuple[str | None, int | None, int | None, str, str] = (
            found.file,
            found.line,
            found.column,
            found.where,
            found.message,
        )


def claim(it: towtank.Claim) -> None:
    says: str = it.says
    verdict: str = it.verdict
    measured: towtank.Quantity | None = it.measured
    holds: str = it.holds
    why: str = it.why
    do: str = it.do
    doubts: tuple[str, ...] = it.doubts


def class_figures(it: towtank.ClassFigures) -> None:
    throughput: towtank.Quantity | None = it.throughput_per_s
    response: towtank.Quantity | None = it.response_time_s
    users: towtank.Quantity | None = it.users_in_system
    dropped: towtank.Quantity | None = it.dropped_per_s
    percentiles: Mapping[str, towtank.Quantity] = it.percentiles_s


def compared_metric(it: towtank.ComparedMetric) -> None:
    name: str = it.name
    transaction: str | None = it.transaction
    ratio: towtank.Quantity | None = it.ratio
    verdict: str = it.verdict
    least: float | None = it.least_detectable


def compared_results(it: towtank.ComparedResults) -> None:
    document: Mapping[str, Any] = it.document
    verdict: str = it.verdict
    valid: bool = it.valid
    metrics: tuple[towtank.ComparedMetric, ...] = it.metrics
    least: float | None = it.least_detectable
    runs_needed: int | None = it.runs_needed
    for difference in it.differs_in:
        print(difference.what, difference.a, difference.b)
    doubts: Sequence[object] = it.doubts


def comparison(it: towtank.Comparison) -> None:
    metric: str = it.metric
    words: tuple[str, str, str] = (it.factor, it.base, it.other)
    load: float = it.load
    ratio: towtank.Quantity | None = it.ratio
    differs: bool | None = it.differs
    assumed: bool | None = it.assumed_differs


def diagnosis(it: towtank.Diagnosis) -> None:
    print(it.cause, it.place)  # types Cause and Place have no entry in the reference
    sure: float = it.sure
    evidence: tuple[str, ...] = it.evidence
    against: tuple[str, ...] = it.against
    unknown: tuple[str, ...] = it.unknown
    settle: str = it.settle
    where: str = it.where
    clause: str | None = it.clause
    likely: bool = it.is_likely
    headline: str = it.headline
    lines: Sequence[str] = it.lines
    document: Mapping[str, Any] = it.document()


def doubt(it: towtank.Doubt) -> None:
    kind: str = it.kind
    level: str = it.level
    message: str = it.message
    why: str = it.why
    hint: str = it.hint


def drive_result(it: towtank.Drive) -> None:
    notes: tuple[str, ...] = it.notes
    document: Mapping[str, Any] = it.document
    target: str = it.target
    verdict: towtank.Verdict = it.verdict
    valid: bool = it.valid
    doubts: tuple[towtank.Doubt, ...] = it.doubts
    found: towtank.Diagnosis = it.diagnosis
    window: float = it.window_s
    users: int | None = it.users
    arrival: float | None = it.rate
    requests: int = it.requests
    failed: int = it.errors
    share: towtank.Quantity | None = it.errors_share
    by_kind: Mapping[str, int] = it.errors_by_kind
    codes: Mapping[str, int] | None = it.status_codes
    throughput: towtank.Quantity | None = it.throughput_per_s
    seconds: towtank.Times = it.response_time_s
    milliseconds: towtank.Times = it.response_time_ms
    exchange: towtank.Times = it.exchange_time_s
    mean: towtank.Quantity | None = it.mean
    p50: towtank.Quantity | None = it.p50
    p95: towtank.Quantity | None = it.p95
    p99: towtank.Quantity | None = it.p99
    transactions: Mapping[str, towtank.Transaction] = it.transactions
    generator: Mapping[str, Any] = it.generator
    for name in ("cpu_s", "cpu_us_per_request", "start_lag_ms_p99", "peak_rss_bytes", "saturated"):
        print(name, generator[name])
    frame(it.frame())
    diagnosis(found)


def due(it: towtank.Due) -> None:
    what: str = it.what
    limit: towtank.Quantity | None = it.limit
    missed_from: date | None = it.missed_from
    chance: float = it.chance


def fit_result(it: towtank.Fit) -> None:
    source: Path = it.source
    document: Mapping[str, Any] = it.document
    curve: str | None = it.curve
    label: str = it.label
    verdict: str = it.verdict
    doubts: Sequence[object] = it.doubts
    parameters: Mapping[str, towtank.Quantity] = it.parameters
    held_out: towtank.Quantity | None = it.held_out_error
    one: towtank.Prediction = it.predict(60)
    several: tuple[towtank.Prediction, ...] = it.predict([60, 120.5])
    sized: towtank.Sizing = it.size(users=100, objective="mean < 500 ms")
    model: Path = it.write("model.yaml")
    frame(it.frame())


def frame(it: towtank.Frame) -> None:
    columns: tuple[str, ...] = it.columns
    values: Mapping[str, Sequence[float | str | None]] = it.to_dict()


def import_note(it: towtank.ImportNote) -> None:
    file: str = it.file
    where: tuple[int, int] = (it.line, it.column)
    words: tuple[str, str] = (it.what, it.why)
    times: int = it.times


def imported_workload(it: towtank.ImportedWorkload) -> None:
    text: str = it.text
    out: Path | None = it.out
    targets: Mapping[str, str] = it.targets
    transactions: tuple[str, ...] = it.transactions
    notes: tuple[towtank.ImportNote, ...] = it.notes
    document: Mapping[str, Any] = it.document


def interval(it: towtank.Interval) -> None:
    low: float = it.low
    high: float = it.high
    low, high = it


def judged(it: towtank.Judged) -> None:
    document: Mapping[str, Any] = it.document
    file: str = it.file
    form: str = it.form
    verdict: towtank.Verdict = it.verdict
    valid: bool = it.valid
    doubts: tuple[towtank.Doubt, ...] = it.doubts
    window = it.window_s
    if window is not None:
        start, end = window
        length: float = end - start
    requests: int | None = it.requests
    failed: int | None = it.errors
    throughput: towtank.Quantity | None = it.throughput_per_s
    times(it.response_time_ms)


def objective(it: towtank.Objective) -> None:
    text: str = it.text
    configuration: str = it.configuration
    met: bool | None = it.met
    seen: towtank.Quantity | None = it.seen
    limit: towtank.Quantity | None = it.limit
    at: str = it.at
    verdict: towtank.Verdict = it.verdict


def point(it: towtank.Point) -> None:
    configuration: str = it.configuration
    factors: Mapping[str, str] = it.factors
    load: float = it.load
    throughput: towtank.Quantity | None = it.throughput_per_s
    response: towtank.Times = it.response_time_s
    share: towtank.Quantity | None = it.errors_share
    transactions: Mapping[str, towtank.Transaction] = it.transactions
    tiers: Mapping[str, towtank.Tier] = it.tiers
    runs: tuple[str, ...] = it.runs
    verdicts: tuple[str, ...] = it.verdicts


def pool_figures(it: towtank.PoolFigures) -> None:
    utilization: towtank.Quantity | None = it.utilization
    held: towtank.Quantity | None = it.held
    waiting: towtank.Quantity | None = it.waiting
    waiting_time: Mapping[str, towtank.Quantity] = it.waiting_time_s


def prediction(it: towtank.Prediction) -> None:
    load: float = it.load
    position: str = it.range
    throughput: towtank.Quantity | None = it.throughput_per_s
    response: towtank.Quantity | None = it.response_time_s
    refused: str = it.refused


def progress(it: towtank.Progress) -> None:
    words: tuple[str, str, str, str] = (it.kind, it.text, it.run, it.stage)
    elapsed: float = it.elapsed_s
    planned: float = it.planned_s
    users: int | None = it.users
    throughput: towtank.Quantity | None = it.throughput_per_s
    p95: towtank.Quantity | None = it.p95_ms
    failed: int = it.errors
    share: float = it.share


def quantity(it: towtank.Quantity) -> None:
    unit: str = it.unit
    bounds: towtank.Interval | None = it.interval
    confidence: float = it.confidence
    about: str = it.about
    low: float | None = it.low
    high: float | None = it.high
    limit: object = it.in_unit("400 ms")
    number: float = it
    below: bool = it < "400 ms"
    same: bool = it <= 0.4 or it > "1 s" or it >= 2
    text: str = f"{it:.3f}"


def rating(it: towtank.Rating) -> None:
    cpus: int = it.cpus
    document: Mapping[str, Any] = it.document
    valid: bool = it.valid
    doubts: Sequence[object] = it.doubts
    scales: Mapping[str, towtank.Quantity] = it.scales
    per_cpu: Mapping[str, towtank.Quantity] = it.per_cpu
    kernels: Mapping[str, towtank.Quantity] = it.kernels
    saved: Path = it.save("here.yaml", "here", force=True)


def results(it: towtank.Results) -> None:
    folder: Path = it.folder
    messages: tuple[str, ...] = it.messages
    summary: Mapping[str, Any] = it.summary
    title: str = it.title
    question: str = it.question
    headline: str = it.headline
    verdict: towtank.Verdict = it.verdict
    valid: bool = it.valid
    configurations: tuple[str, ...] = it.configurations
    points: tuple[towtank.Point, ...] = it.points
    runs: tuple[towtank.Run, ...] = it.runs
    objectives: tuple[towtank.Objective, ...] = it.objectives
    missed: tuple[towtank.Objective, ...] = it.missed
    observations: tuple[str, ...] = it.observations
    diagnoses: Mapping[str, towtank.Diagnosis] = it.diagnoses
    found: towtank.Diagnosis | None = it.diagnosis
    claims: tuple[towtank.Claim, ...] = it.claims
    compared: tuple[towtank.Comparison, ...] = it.compare("search_index", metric="throughput_per_s")
    fitted: towtank.Fit = it.fit("closed", configuration="present")
    one: towtank.Prediction = it.predict(1000)
    also: towtank.Prediction = it.predict(users=1000)
    several: tuple[towtank.Prediction, ...] = it.predict([1000, 2000], configuration="present")
    sized: towtank.Sizing = it.size(users=1500, objective="p95 < 500 ms")
    written: Path = it.report("report.html")
    default: Path = it.report()
    frame(it.frame())
    frame(it.table())


def run_of_study(it: towtank.Run) -> None:
    name: str = it.name
    factors: Mapping[str, str] = it.factors
    load: float | None = it.load
    status: str = it.status
    verdict: towtank.Verdict = it.verdict
    throughput: towtank.Quantity | None = it.throughput_per_s
    response: towtank.Times = it.response_time_s
    failed: int | None = it.errors
    share: towtank.Quantity | None = it.errors_share
    tiers: Mapping[str, towtank.Tier] = it.tiers
    summary: Mapping[str, Any] = it.summary
    frame(it.frame())


def scenario(it: towtank.Scenario) -> None:
    lost: str = it.lost
    nodes_lost: int = it.nodes_lost
    objectives: tuple[towtank.SizedObjective, ...] = it.objectives
    utilization: Mapping[str, towtank.Quantity] = it.utilization


def sized_objective(it: towtank.SizedObjective) -> None:
    text: str = it.text
    value: towtank.Quantity | None = it.value
    limit: towtank.Quantity = it.limit


def sized_tier(it: towtank.SizedTier) -> None:
    nodes: int = it.nodes
    cpus: int = it.cpus
    machine: str | None = it.machine
    utilization: Mapping[str, towtank.Quantity] = it.utilization
    memory: towtank.Quantity | None = it.memory_bytes


def sizing(it: towtank.Sizing) -> None:
    source: Path = it.source
    document: Mapping[str, Any] = it.document
    found: bool = it.found
    configuration: str = it.configuration
    tiers: Mapping[str, towtank.SizedTier] = it.tiers
    probability: towtank.Quantity | None = it.probability
    load_at_limit: towtank.Quantity | None = it.load_at_limit
    headroom: towtank.Quantity | None = it.headroom
    scenarios: tuple[towtank.Scenario, ...] = it.scenarios
    fewer: tuple[towtank.Cheaper, ...] = it.cheaper
    what_if: tuple[towtank.WhatIf, ...] = it.what_if
    dates: tuple[towtank.Due, ...] = it.dates
    rests_on: Sequence[object] = it.rests_on
    assumptions: Sequence[object] = it.assumptions
    doubts: Sequence[object] = it.doubts
    steps: Sequence[str] = it.steps


def solution(it: towtank.Solution) -> None:
    document: Mapping[str, Any] = it.document
    classes: Mapping[str, towtank.ClassFigures] = it.classes
    stations: Mapping[str, towtank.StationFigures] = it.stations
    pools: Mapping[str, towtank.PoolFigures] = it.pools
    method: str = it.method
    exact: bool = it.exact
    within: towtank.Quantity | None = it.approximate_within
    steady: bool = it.steady
    warnings: tuple[str, ...] = it.warnings
    frame(it.frame())


def station_figures(it: towtank.StationFigures) -> None:
    utilization: towtank.Quantity | None = it.utilization
    queue: towtank.Quantity | None = it.queue_length
    throughput: towtank.Quantity | None = it.throughput_per_s
    residence: Mapping[str, towtank.Quantity] = it.residence_time_s
    by_class: Mapping[str, towtank.Quantity] = it.utilization_by_class


def tier(it: towtank.Tier) -> None:
    used: towtank.Quantity | None = it.cpus_used
    utilization: towtank.Quantity | None = it.utilization
    demand: towtank.Quantity | None = it.cpu_demand_s


def times(it: towtank.Times) -> None:
    of: tuple[towtank.Quantity | None, ...] = (it.mean, it.p50, it.p90, it.p95, it.p99, it.p99_9, it.min, it.max)
    ms: towtank.Times = it.in_ms()


def transaction(it: towtank.Transaction) -> None:
    throughput: towtank.Quantity | None = it.throughput_per_s
    times(it.response_time_s)
    share: towtank.Quantity | None = it.errors_share


def validation(it: towtank.Validation) -> None:
    files: tuple[towtank.CheckedFile, ...] = it.files
    valid: bool = it.valid
    faults: tuple[Fault, ...] = it.faults
    document: Mapping[str, Any] = it.document
    it.raise_faults()


def verdict(it: towtank.Verdict) -> None:
    level: str = it.level
    doubts: tuple[towtank.Doubt, ...] = it.doubts
    valid: bool = it.valid


def what_if(it: towtank.WhatIf) -> None:
    change: str = it.change
    configuration: str = it.configuration
    met: bool | None = it.met
    objectives: tuple[towtank.SizedObjective, ...] = it.objectives
    limit: towtank.Quantity | None = it.load_at_limit
    refused: str = it.refused


# ---- functions


def solve_all() -> None:
    model = towtank.solve(WEB)
    response = model.classes["web"].response_time_s
    utilization = model.stations["cpu"].utilization
    assert model.exact and model.method
    assert response is not None and response < "501 ms"
    assert utilization is not None and 0.79 < utilization < 0.81
    solution(model)
    towtank.solve(WEB, changes={"stations.cpu.servers": 8}, method="auto")
    towtank.solve(Path("model.yaml")) if Path("model.yaml").exists() else None


def simulate_all() -> None:
    found = towtank.simulate(WEB, seed=1, precision="10 %")
    response = found.classes["web"].response_time_s
    utilization = found.stations["cpu"].utilization
    assert not found.exact
    assert response is not None and response.interval is not None
    low, high = response.interval
    assert low < 0.5 < high
    assert utilization is not None and utilization.interval is not None
    solution(found)
    towtank.simulate(
        WEB,
        seed=2,
        changes={"classes.web.rate": "4 /s"},
        precision=0.1,
        confidence="90 %",
        replications=4,
        events=100_000_000,
        time="30 s",
        threads=1,
    )


def drive_all(url: str) -> None:
    found = towtank.drive(url, users=64, duration="5s")
    assert found.requests > 0
    p95 = found.response_time_ms.p95
    assert p95 is not None
    print(found.throughput_per_s, p95, found.valid, found.doubts, found.diagnosis)
    drive_result(found)


def drive_every_argument(url: str) -> towtank.Drive:
    return towtank.drive(
        url,
        users=None,
        rate=100.0,
        duration="2 s",
        ramp=1.0,
        think="0 ms",
        timeout=5.0,
        trace=None,
        arrivals="poisson",
        users_at_most=100,
        backlog_at_most=10,
        method="POST",
        headers={"Accept": "text/html"},
        body="text",
        insecure=True,
        cacert=Path("ca.pem"),
        cert="cert.pem",
        key="key.pem",
        connections="per-user",
        http2=False,
        streams=None,
        connect_to=["127.0.0.1:80"],
        source=("127.0.0.2",),
        watch=["unit=shop.service"],
        limits={"interference": "20 %", "errors": 0.02},
        threads=1,
        pin=[0],
        seed=1,
        addresses={"shop": "127.0.0.1:80"},
        changes={"parameters.size": 3},
        out=Path("run"),
        allowed=["example.com"],
        progress=progress,
    )


def run_all() -> None:
    found = towtank.run("content-users", preset="quick")
    results(found)
    found = towtank.run(
        Path("study.yaml"),
        preset=None,
        changes={"load.users": 50, "load.stages.steady": "20 s"},
        repetitions=2,
        seed=1,
        out="results/mine",
        resume=True,
        report=False,
        allowed=("example.com",),
        trusted=True,
        progress=True,
    )


def open_all(folder: Path) -> None:
    found = towtank.open(folder)
    print(found.verdict, found.table(), found.diagnosis, found.claims)
    fitted = found.fit()
    predicted = found.predict(users=1000)
    sized = found.size(users=1500, objective="p95 < 500 ms")
    page = found.report()
    print(fitted, predicted, sized, page)


def compare_all(a: Path, b: towtank.Results) -> None:
    compared_results(towtank.compare(a, b))
    compared_results(towtank.compare("a", ["b1.json", Path("b2.json")], threshold="5 %"))
    compared_results(towtank.compare(b, b, threshold=0.05))


def judge_all(path: Path) -> None:
    judged(towtank.judge(path))
    judged(towtank.judge("results.jtl"))


def fit_all() -> None:
    shop = towtank.fit("examples/from-csv-to-size/measured.csv", "closed", servers=4, think="2 s")
    fit_result(shop)
    towtank.fit(Path("results/a"), configuration="present", hold_out=1)
    towtank.fit(
        "measured.csv", "auto", think=2.0, x="users", y="throughput", response="mean", error="error", busy="busy"
    )


def import_all() -> None:
    imported_workload(towtank.import_workload("har", "visit.har", out="visit.yaml"))
    imported_workload(towtank.import_workload("k6", Path("a.js"), hosts=["a.example"], force=True))


def rate_all() -> None:
    def step(kernel: str, share: float) -> None:
        print(kernel, share)

    rating(towtank.rate(quick=True, progress=step))
    rating(towtank.rate(Path(".")))


def size_all() -> None:
    sizing(towtank.size("model.yaml", users=100, objective=["p95 < 500 ms", "mean < 100 ms"]))
    sizing(
        towtank.size(
            Path("model.yaml"),
            "sizing.yaml",
            users={"web": 100},
            rate=None,
            think={"web": "2 s"},
            mix={"web": 1.0},
            objective="p95 < 500 ms",
            utilization={"cpu": "70 %"},
            peak=1.5,
            growth="20 % / year",
            horizon="3 years",
            start="2026-01-31",
            history=None,
            headroom="20 %",
            nodes_lost=1,
            probability=0.9,
            cpus={"app": [2, 4, 8]},
            nodes={"app": "2..8"},
            machines=["small"],
            machine_files=["here.yaml", Path("there.yaml")],
            measured_on="here",
            uncertainty="10 %",
            what_if=["cpu x1.5"],
            configuration=None,
            servers=None,
            model="auto",
            exhaustive=False,
            simulation=True,
            beyond=False,
            keep=False,
        )
    )


def validate_all() -> None:
    checked = towtank.validate("content-users")
    assert checked.valid
    validation(checked)
    towtank.validate("study.yaml", Path("workload.yaml"))


def errors_all() -> None:
    try:
        towtank.drive("http://127.0.0.1:8080/", users=3, rate=5.0, duration="soon")
    except StudyError as error:
        faults: Sequence[Fault] = error.faults
        print(error, faults)
    except (TargetError, EngineError, MeasurementError, ModelError, ReportError) as error:
        print(error)
    except TowtankError as error:
        print(error)
    except errors.TowtankError:
        raise


def session_all(url: str) -> None:
    limits: towtank.Limits = {"interference": "20 %", "start_lag_p99": 0.05}
    with towtank.Session("results/today", seed=7, limits=limits, allowed=("example.com",), progress=True) as session:
        drive_result(session.drive(url, users=8, duration="5 s"))
        results(session.run("content-users", preset="quick"))
        folder: Path | None = session.folder
        closed: bool = session.closed
    session.close()


async def session_of_asyncio(url: str) -> None:
    async with towtank.Session() as session:
        found: towtank.Drive = await asyncio.to_thread(session.drive, url, duration="5 s")
        drive_result(found)


def diagnosis_parts(it: towtank.Diagnosis) -> None:
    cause: towtank.Cause = it.cause
    place: towtank.Place = it.place
    names: tuple[str | None, ...] = (place.tier, place.host, place.transaction, place.part)
    text: str = place.text
    assert cause is not towtank.Cause.NONE


def difference(it: towtank.Difference) -> None:
    what: str = it.what
    values: tuple[str | None, str | None] = (it.a, it.b)
