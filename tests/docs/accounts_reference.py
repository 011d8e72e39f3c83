"""Judgements (rules how a block is tested) on the fenced blocks of the reference and of the background pages."""

from __future__ import annotations

from judgements import Judgement, Keys, Line, Python, Run, Same, Shown, Snippet, Synopsis, Texts

_TREE = "a drawing of files: test_docs_links.py looks for those of the repository"

USERS = "studies/content-users/study.yaml"
FAILURES = "studies/content-failures/study.yaml"

BRICK = {"provider": "namespaces", "disks": {"data": {"size": "2 GiB", "file_system": "xfs"}}}
ROUTED = {
    "classes": {"web": {"rate": "1 /s"}},
    "stations": {"cpu": {"service_time": "20 ms"}, "disk": {"service_time": "5 ms"}},
}

REFERENCE: dict[str, tuple[Judgement, ...]] = {
    "docs/background/architecture.md": (Shown("study.yaml ─►", "a drawing"),),
    "docs/background/interactive-capacity.md": (
        *(Run("$ towtank rules", exact=True) for _ in range(5)),
        Same("# examples/interactive/sheet.yaml", file="examples/interactive/sheet.yaml"),
        Run("$ towtank advise", exact=True),
    ),
    "docs/background/rules-of-thumb.md": (Run("$ towtank rules", exact=True), Synopsis("towtank advise")),
    "docs/reference/claims.md": (
        Keys('{"schema":"towtank/claims/1"', document="claims"),
        Snippet("repeat: until decided", "study", onto="studies/content-users/study.yaml"),
        Texts("Confirmed:"),
    ),
    "docs/reference/engine.md": (Keys('{"event": "begin"', document="rate"),),
    "docs/reference/files.md": (
        Texts("study.yaml:21:13"),
        # The study states the load of its objective as a fraction of the limit, but these loads are numbers of users.
        Snippet("load:", kind="study", onto=USERS, without=("factors", "presets", "claims", "objectives")),
        Snippet("load:", kind="study", onto="examples/trace/study.yaml"),
        Snippet("factors:", kind="study", onto=USERS, without=("claims", "objectives")),
        Snippet(
            "events:", kind="study", onto=FAILURES, without=("claims", "presets"), beside={"factors": {"users": [40]}}
        ),
        Snippet("claims:", kind="study", onto=USERS),
        Snippet("predict:", kind="study", onto="studies/content-nodes/study.yaml"),
        Snippet("predict:", kind="study", onto="examples/two-hosts/study.yaml"),
        Snippet(
            "- sql:",
            kind="workload",
            under=("transactions", "order"),
            before=({"set": {"district": "${random.int(1, 10)}"}},),
        ),
        Snippet("- file:", kind="workload", under=("transactions", "write")),
        Snippet(
            "- ldap:",
            kind="workload",
            under=("transactions", "log_in"),
            before=({"draw": "login"},),
            beside={"data": {"login": {"columns": ["user", "password"], "rows": [["ana", "sesame"]]}}},
        ),
    ),
    "docs/reference/machine.md": (Snippet("schema: towtank/machine/1", kind="machine"),),
    "docs/reference/model-cache.md": (Synopsis("towtank model cache TRACE"),),
    "docs/reference/model.md": (
        Snippet("classes:", kind="model"),
        Snippet("classes:", kind="model"),
        Snippet("routing:", kind="model", beside=ROUTED),
        *(Snippet("classes:", kind="model") for _ in range(4)),
        Keys('{"schema": "towtank/solve/1"', document="solve"),
        Keys('{"schema": "towtank/simulate/1"', document="simulate"),
        Keys('{"classes"', document="engine-model"),
        Keys('{"patience"', document="engine-behaviour"),
    ),
    "docs/reference/python.md": (
        *(Python(">>>") for _ in range(9)),
        Shown("async def measure", because="tests/api/test_api_sessions.py cancels such a task"),
        *(Python(">>>") for _ in range(2)),
        Shown("def test_checkout(towtank)", because="tests/api/test_api_plugin.py runs such tests"),
        Shown("E   assert 434", because="tests/api/test_api_plugin.py compares such a message"),
    ),
    "docs/reference/rating.md": (
        Run(
            "towtank rate",
            (
                Line("towtank rate   ", planned="takes three minutes", nightly=True, measures=True),
                Line("towtank rate --quick", measures=True),
                Line("towtank rate --out", planned="takes three minutes", nightly=True, measures=True),
                Line("towtank rate --against", more="--quick", measures=True),
            ),
        ),
    ),
    "docs/reference/report.md": (Shown("report/source.py", _TREE),),
    "docs/reference/rules.md": (
        Snippet("schema: towtank/rule-file/1", kind="rule-file"),
        Snippet("schema: towtank/sheet/1", kind="sheet"),
    ),
    "docs/reference/run-folder.md": (
        Shown("results/content-users-20261120-180501/", _TREE),
        Keys('{"k":"header"', document="segment"),
        Keys('{"k":"interval"', document="segment"),
        Keys('{"k":"stored"', document="stored-records"),
        Keys('{"k":"sample"', document="probe"),
    ),
    "docs/reference/services.md": (
        Snippet("hosts:", kind="system", beside={"name": "distributed"}),
        Snippet(
            "area:",
            kind="system",
            under=("services",),
            beside={
                "hosts": {key: {"provider": "namespaces"} for key in ("web-1", "web-2", "web-3")}
                | dict.fromkeys(("brick-1", "brick-2"), BRICK),
                "services": {
                    "store-1": {"kind": "glusterfs_server", "host": "brick-1", "disk": "data"},
                    "store-2": {"kind": "glusterfs_server", "host": "brick-2", "disk": "data"},
                    "database": {"kind": "postgresql", "host": "web-1"},
                },
            },
        ),
    ),
    "docs/reference/stored.md": (Keys('{"schema":"towtank/stored/1"', document="stored"),),
    "docs/reference/summary.md": (
        Keys('{"schema":"towtank/run-summary/1"', document="run-summary"),
        Keys('{"of":"users"', document="limit"),
        Keys('{"schema":"towtank/study-summary/1"', document="study-summary"),
    ),
}
