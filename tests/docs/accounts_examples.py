"""Judgements (rules how a block is tested) on the fenced blocks of the README, the tutorial, the examples, the studies
and the content server.
"""

from __future__ import annotations

from judgements import Judgement, Line, Output, Python, Run, Same, Shown, Snippet, Synopsis

DRAWING = "a drawing"
HOURS = "takes an hour or more"
MINUTES = "takes minutes: `make nightly` runs it"
_RESULTS = "results/content-users-20261120-180501"


def study(name: str, *long: str) -> Run:
    """Return the judgement on a block with the commands of a study: how the block is tested.

    The test suite runs `towtank doctor` and only plans the other commands. Nightly runs execute them, except those in
    `long`, which take hours.
    """
    lines = (Line(f"towtank run {name}", planned=MINUTES, nightly=True, measures=True),)
    return Run("towtank", (*lines, *(Line(f"towtank run {command}", planned=HOURS) for command in long)))


# Values of `--set` that give the content studies short stages, small contents, and no claims.
_SMALL_CONTENT = (
    "factors.users=[8, 16]",
    "services.content.population.scale=0.0001",
    "load.stages={ramp_up: 1 s, settle: 1 s, steady: 5 s, ramp_down: 500 ms}",
    "claims=[]",
    # The study states the load of its objective as a fraction of the limit, but these levels are numbers of users.
    "objectives=[]",
)
_SHORT_TRACE = ("load.trace.stretch=0.1", "load.trace.settle=500 ms")
_SHORT_BATCH = (
    "load.schedule=[{name: plain, phase: steady, for: 2 s, users: {readers: 20}}, "
    "{name: batch, phase: steady, for: 3 s, users: {readers: 20, batch: 2}}]",
)
# 60 users meet the objective on any machine. 1060 users violate it: at 200 /s and with a think time of 500 ms, their
# response time is 1060 / (200 /s) - 500 ms = 4.8 s > 3 s.
SEARCH = Line(
    "towtank run examples/find-limit",
    more="--no-report",
    sets=(
        "objectives=[p95 < 3 s]",
        "load.steps=[{by: 1000}]",
        "load.at_most=2000",
        "load.stages={ramp_up: {each: 2 ms}, settle: 4 s, steady: 3 s}",
        "load.refine={to: 95 %, repeats: 1}",
    ),
    measures=True,
)
# Beginnings of output lines; the remainder of these lines depends on the measurement.
TUTORIAL = (
    "The system carries",
    "- Throughput grows from",
    "- The limit:",
    "- The demands at the lowest load put the knee",
    "report: results/first-study-",
)
SHORT_LEVELS = ("load.stages={ramp_up: 500 ms, settle: 500 ms, steady: 3 s, ramp_down: 500 ms}",)
_DATABASE = "tests/integration/test_integration_own_application.py starts and stops databases with it"
_SMALL_STUDY = ("load.stages={ramp_up: 500 ms, settle: 1 s, steady: 4 s, ramp_down: 500 ms}",)
_SMALL_PILOT = ("load.pilot={ramp_up: 500 ms, settle: 500 ms, steady: 2 s}", *_SMALL_STUDY)

STARTED = Line("towtank run", more="--no-report", sets=SHORT_LEVELS, measures=True)

EXAMPLES: dict[str, tuple[Judgement, ...]] = {
    "README.md": (
        Run(
            "make demo",
            (
                Line(
                    "make demo", instead="towtank run content-users --preset quick", sets=_SMALL_CONTENT, measures=True
                ),
                Line("make test", shown="the tests are those that run"),
                Line(". .venv/bin/activate", shown="the tests run in their own environment"),
            ),
        ),
        Output("verdict: valid (runs", of="towtank run content-users", line=Line("", measures=True)),
        study("content-nodes"),
        Snippet("schema: towtank/study/1", kind="study", onto="examples/first-study/study.yaml", saved="study.yaml"),
        Run("towtank validate study.yaml", (Line("towtank run study.yaml", sets=_SMALL_STUDY, measures=True),)),
        Run("towtank drive", (Line("towtank drive", more="--duration 4s", measures=True),)),
        Run(
            "towtank model fit RESULTS",
            (
                # The tests use stored results of a small server, so `towtank size` is called for only 80 users.
                Line("towtank size", more="--users 80"),
                Line("towtank rate", more="--quick", measures=True),
            ),
        ),
        Python(">>> import towtank"),
    ),
    "docs/tutorial/first-study.md": (
        Run(". .venv/bin/activate", (Line(". .venv/bin/activate", shown="the tests run in their own environment"),)),
        Same("# system.yaml", file="examples/first-study/system.yaml", saved="system.yaml"),
        Same("# workload.yaml", file="examples/first-study/workload.yaml", saved="workload.yaml"),
        Same("# study.yaml", file="examples/first-study/study.yaml", saved="study.yaml"),
        Run("$ towtank validate study.yaml"),
        Run("$ towtank run study.yaml", (Line("towtank run study.yaml", measures=True, free=TUTORIAL),)),
        Snippet("factors:", kind="study", onto="examples/first-study/study.yaml"),
    ),
    "examples/balanced/README.md": (study("examples/balanced"),),
    "examples/call-desk/README.md": (Run("towtank size examples/call-desk/desk.yaml"),),
    "examples/directory/README.md": (
        study("examples/directory"),
        Run(
            "towtank drive workload.yaml",
            (
                Line(
                    "towtank drive",
                    shown="loads a directory of the reader; `towtank drive` of LDAP is tested with its driver",
                ),
            ),
        ),
    ),
    "examples/find-limit/README.md": (Run("towtank run", (SEARCH,)),),
    "examples/order-entry/README.md": (study("examples/order-entry"),),
    "examples/own-application/README.md": (
        Run(
            "sh examples/own-application/database.sh start",
            (
                Line("sh", shown=_DATABASE),
                # The tests do not start the database, so they run the application with a different limit than the page:
                # `lock`.
                Line("python", more="--limit lock", serves=True),
                Line("towtank run", more="--no-report", sets=SHORT_LEVELS, measures=True),
            ),
        ),
        Run("sh examples/own-application/database.sh stop", (Line("sh", shown=_DATABASE),)),
        Run("towtank run examples/own-application/started.yaml", (STARTED,)),
    ),
    "examples/published-cases/README.md": (
        Run("towtank model fit usl examples/published-cases/drives-large-file-save.csv"),
        Run("towtank model fit examples/published-cases/content-users.csv"),
        Run("towtank rules cacheable_index"),
    ),
    "examples/repository/README.md": (Shown("┌─► content", DRAWING), study("examples/repository")),
    "examples/trace/README.md": (
        Run(
            "towtank run examples/trace/study.yaml",
            (
                Line("towtank run examples/trace/study.yaml", more="--no-report", sets=_SHORT_TRACE, measures=True),
                Line("towtank run examples/trace/batch.yaml", more="--no-report", sets=_SHORT_BATCH, measures=True),
            ),
        ),
    ),
    "examples/two-hosts/README.md": (study("examples/two-hosts"),),
    "reference/content_server/README.md": (
        Run(
            "content-server populate",
            (
                Line("content-server populate", more="--scale 0.00005"),
                Line("content-server serve", serves=True),
            ),
        ),
        Shown(
            "GET /browser/content/root?objectId=UUID",
            "forms of requests and answers: tests/content_server makes such requests",
        ),
        Shown("SELECT cmis:objectId", "a query: tests/content_server asks it"),
        Synopsis("content-server populate --data DIR"),
    ),
    "studies/batch-window/README.md": (
        Shown("host `server`: 0.3", DRAWING),
        study("batch-window --quick", "batch-window    "),
    ),
    "studies/colony/README.md": (
        Shown("┌ one:", DRAWING),
        Run(
            "towtank",
            (
                Line("towtank run colony", planned=HOURS),
                Line("towtank run colony --quick", planned=MINUTES, nightly=True, measures=True),
            ),
        ),
    ),
    "studies/content-cache/README.md": (study("content-cache", "content-cache --preset full"),),
    "studies/content-failures/README.md": (
        Shown("┌───", DRAWING),
        study("content-failures", "content-failures --preset full"),
    ),
    "studies/content-full-disk/README.md": (study("content-full-disk", "content-full-disk --preset full"),),
    "studies/content-network-storage/README.md": (
        Shown("generator ── edge MTU", DRAWING),
        study("content-network-storage", "content-network-storage --preset full"),
    ),
    "studies/content-nodes/README.md": (
        Shown("all on a virtual network", DRAWING),
        study("content-nodes", "content-nodes --preset full"),
    ),
    "studies/content-scaling/README.md": (
        Shown("generator ──► host web", DRAWING),
        study("content-scaling", "content-scaling --preset full"),
    ),
    "studies/content-tuning/README.md": (
        Shown("generator core", DRAWING),
        study("content-tuning", "content-tuning --preset full"),
    ),
    "studies/content-users/README.md": (
        Shown("this machine", DRAWING),
        study("content-users", "content-users --preset full"),
    ),
    "studies/database-access/README.md": (
        Shown("16 users", DRAWING),
        study("database-access --preset quick", "database-access    "),
    ),
    "studies/database-features/README.md": (
        Shown("┌ find, join", DRAWING),
        study("database-features --preset quick", "database-features    "),
    ),
    "studies/disk-arms/README.md": (
        Shown("users with think times", DRAWING),
        Run(
            "towtank",
            (
                Line("towtank run disk-arms --quick", planned=MINUTES, nightly=True, measures=True),
                Line("towtank run disk-arms              #", planned=HOURS),
            ),
        ),
    ),
    "studies/database-queries/README.md": (
        Shown("┌ scan:", DRAWING),
        Run(
            "towtank",
            (
                Line("towtank run database-queries --quick", planned=MINUTES, nightly=True, measures=True),
                Line("towtank run database-queries", planned=HOURS),
            ),
        ),
    ),
    "studies/file-systems/README.md": (
        Shown("this machine", DRAWING),
        study(
            "file-systems --preset quick",
            "file-systems    ",
        ),
    ),
    "studies/interactive-capacity/README.md": (
        Shown("one CPU, C", DRAWING),
        Run(
            "towtank",
            (
                Line("towtank run interactive-capacity --quick", planned=MINUTES, nightly=True, measures=True),
                Line("towtank run interactive-capacity    ", planned=HOURS),
            ),
        ),
    ),
    "studies/network-devices/README.md": (
        Shown("host `client`", DRAWING),
        study("network-devices --preset quick", "network-devices    "),
    ),
    "studies/runtime-memory/README.md": (
        Shown("generator core", DRAWING),
        Run(
            "towtank",
            (
                Line("towtank run runtime-memory --quick", planned=MINUTES, nightly=True, measures=True),
                Line("towtank run runtime-memory                   #", planned=HOURS),
            ),
        ),
    ),
    "studies/partitions/README.md": (
        Shown("one CPU", DRAWING),
        study("partitions --quick", "partitions    "),
    ),
    "studies/web-keepalive/README.md": (
        Shown("┌ closed", DRAWING),
        study("web-keepalive --quick", "web-keepalive    "),
    ),
}
