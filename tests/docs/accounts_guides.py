"""Judgements (rules how a block is tested) on the fenced blocks of the guides."""

from __future__ import annotations

from accounts_examples import SEARCH, SHORT_LEVELS, STARTED, study
from judgements import Judgement, Line, Output, Run, Same, Shown, Snippet, Synopsis, Texts

# More waiting users may slow the holder of the lock, so throughput at the highest load falls in some runs.
_GROWS = "because `shop_report_lock_held_seconds_total` grows by # t per second; # requests wait for it on average; "
LOCK_HELD = Line("towtank diagnose", free=(f"{_GROWS}throughput ",))
# A busy machine may stop for seconds, so a drive lasts 4 s, and the p95 may be up to 1 min.
DRIVE = Line("towtank drive", more="--duration 4s", measures=True)
_OTHERS = "a program of others, with its own options"
_SHORT_SHOP = (
    "load.stages={ramp_up: 500 ms, settle: 500 ms, steady: 4 s, ramp_down: 500 ms}",
    "objectives=[p95 < 1 min, errors < 1 %]",
)
SHOP = Line("towtank run examples/shop/study.yaml", more="--no-report", sets=_SHORT_SHOP, measures=True)
WRK = Line("wrk", more="-d1s", needs="wrk")
AB = Line("ab ", shown="its test lasts 30 s and ends by none of its options sooner")

USERS = "studies/content-users/study.yaml"
FAILURES = "studies/content-failures/study.yaml"
FORTY = {"factors": {"users": [40]}}
DOCUMENTS = {
    "data": {"accounts": {"columns": ["user"], "rows": [["ana"]]}},
    "transactions": {"begin": [{"set": {"edited": "1", "old": "2"}}]},
    "groups": {
        "editors": {"once": ["begin"], "loop": {"mix": {"add_document": 1, "edit_document": 1, "remove_document": 1}}}
    },
}


def _shop(*begins: str) -> tuple[Run, ...]:
    lines = {"towtank drive": (DRIVE,), "towtank run": (SHOP,), "towtank export": ()}
    return tuple(Run(f"$ {text}", lines[text]) for text in begins)


_STARTED = "examples/own-application/started"
GUIDES: dict[str, tuple[Judgement, ...]] = {
    "docs/guides/coming-from-other-tools.md": (
        Run("python examples/shop/server.py 8080", (Line("python", serves=True),)),
        Same("# examples/shop/workload.yaml", file="examples/shop/workload.yaml"),
        Same("user,password", file="examples/shop/accounts.csv", keeps_first_line=True),
        Run("$ towtank drive examples/shop/workload.yaml", (DRIVE,)),
        Same("# examples/shop/system.yaml", file="examples/shop/system.yaml"),
        Same("# examples/shop/study.yaml", file="examples/shop/study.yaml"),
        Run("$ towtank run examples/shop/study.yaml", (SHOP,)),
    ),
    "docs/guides/compare-in-ci.md": (
        Run("$ towtank compare", (Line("towtank compare", statuses=(7,)),)),
        Synopsis("towtank compare --a a1.json"),
        Synopsis("towtank run performance/study.yaml --out results/main"),
        Synopsis("towtank run performance/study.yaml --out results/now"),
        Synopsis("towtank history results/"),
    ),
    "docs/guides/export.md": (
        Synopsis("towtank export RESULTS|RUN"),
        Shown(
            "$ java -cp HdrHistogram", "a reader of others; tests/results/exports reads the files with one of its own"
        ),
        Shown("$ duckdb", "a query: tests/docs/test_docs_queries.py asks it"),
        Synopsis("- run: towtank run my-study"),
        Synopsis("towtank run my-study --send"),
    ),
    "docs/guides/find-the-limit.md": (
        Snippet("objectives:", kind="study", onto=USERS, without=("factors", "presets", "claims")),
        Output("120 users passed", of="towtank run examples/find-limit --preset quick", line=SEARCH),
        Snippet("factors:", kind="study", onto=USERS, without=("claims",)),
    ),
    "docs/guides/fit-a-model.md": (
        Synopsis("towtank model fit [CURVE] CSV|RESULTS"),
        Run("$ towtank model fit usl levels.csv"),
        Run("$ towtank model fit results/content-users"),
        Texts("left out, r005"),
        Run("$ towtank model fit network results/shop", (Line("towtank size", more="--users 60"),)),
    ),
    "docs/guides/from-gatling.md": (Run("$ towtank run", (SHOP, DRIVE)),),
    "docs/guides/from-hey-ab-oha.md": (Run("$ ab -k", (AB, DRIVE)),),
    "docs/guides/from-jmeter.md": (
        *_shop("towtank drive"),
        Run("$ jmeter", (Line("jmeter", shown=_OTHERS),)),
        Same("# examples/from-jmeter/workload.yaml", file="examples/from-jmeter/workload.yaml"),
        *_shop("towtank drive", "towtank run", "towtank export"),
    ),
    "docs/guides/from-k6.md": (
        *_shop("towtank drive"),
        Same("// examples/from-k6/script.js", file="examples/from-k6/script.js"),
        Run("$ k6 run", (Line("k6", more="--quiet --stage 1s:2", needs="k6"),)),
        Same("# examples/from-k6/workload.yaml", file="examples/from-k6/workload.yaml"),
        *_shop("towtank drive", "towtank run"),
        Run("$ towtank export", (DRIVE,)),
    ),
    "docs/guides/from-locust.md": (
        *_shop("towtank drive"),
        Same("# examples/from-locust/locustfile.py", file="examples/from-locust/locustfile.py"),
        Run("$ locust", (Line("locust", more="-t 2s", needs="locust"), DRIVE)),
        *_shop("towtank drive", "towtank run"),
    ),
    "docs/guides/from-wrk.md": (
        Run("$ wrk", (WRK, DRIVE)),
        *_shop("towtank drive", "towtank drive"),
        Same("-- examples/from-wrk/login.lua", file="examples/from-wrk/login.lua"),
        Run("$ wrk", (WRK, DRIVE)),
        *_shop("towtank drive"),
    ),
    "docs/guides/hosts.md": (
        Snippet("hosts:", kind="system", beside={"name": "two-hosts"}),
        Texts("towtank: hosts.web.memory"),
        Snippet("factors:", kind="study", onto="studies/colony/study.yaml", without=("claims", "presets")),
        Snippet(
            "hosts:",
            kind="system",
            beside={"name": "far", "services": {"content": {"kind": "content_server", "host": "server"}}},
        ),
        Snippet(
            "hosts:",
            kind="system",
            beside={"name": "near", "services": {"content": {"kind": "content_server", "host": "server"}}},
        ),
    ),
    "docs/guides/import.md": (
        Synopsis("towtank import"),
        Texts("script.js:26:5"),
        Shown("10.0.0.7 - -", "a line of a log: tests/docs/test_docs_queries.py imports it"),
        Texts("think times: exponential"),
    ),
    "docs/guides/judge-other-tools.md": (Run("$ towtank judge examples/judge/requests.csv"),),
    "docs/guides/make-things-fail.md": (
        Snippet("events:", kind="study", onto=FAILURES, without=("factors", "claims", "presets"), beside=FORTY),
        Snippet("events:", kind="study", onto=FAILURES, without=("claims", "presets"), beside=FORTY),
        Snippet(
            "transactions:",
            kind="workload",
            beside=DOCUMENTS,
            fills={"# ...": "multipart: {content: {generated: {size: 1 KiB}}}"},
        ),
        Snippet("read_back:", kind="study", onto=FAILURES),
    ),
    "docs/guides/my-application-already-runs.md": (
        Run("python examples/own-application/app.py", (Line("python", serves=True),)),
        Run("$ curl", (Line("curl", needs="curl"),)),
        Run("$ towtank drive", (DRIVE,)),
        Output("http://127.0.0.1:8080/report", of="towtank drive", line=DRIVE),
        Run("$ towtank drive", (DRIVE,)),
        Output("http://127.0.0.1:8080/report", of="towtank drive", line=DRIVE),
        Same("# examples/own-application/system.yaml", file="examples/own-application/system.yaml"),
        Same("# examples/own-application/workload.yaml", file="examples/own-application/workload.yaml"),
        Same("# examples/own-application/study.yaml", file="examples/own-application/study.yaml"),
        Run(
            "$ towtank validate",
            (Line("towtank run", more="--no-report", sets=SHORT_LEVELS, measures=True),),
        ),
        Run("$ python -c"),
        Snippet("# reports.yaml", kind="model", saved="reports.yaml"),
        Run("$ towtank model solve"),
        Run("$ towtank size"),
        Snippet("services:", kind="system", onto="examples/own-application/system.yaml"),
        Run("$ towtank diagnose"),
        Output("limited by a lock", of="towtank diagnose", line=LOCK_HELD),
    ),
    "docs/guides/start-my-application.md": (
        Run("$ towtank init"),
        Same("# examples/own-application/started-system.yaml", file=f"{_STARTED}-system.yaml"),
        Run("$ towtank system up"),
        Shown("shop ended with status 2", "a mistake in the file, with the words of argparse"),
        Same("# examples/own-application/started.yaml", file=f"{_STARTED}.yaml"),
        Run(
            "$ towtank validate",
            (STARTED,),
        ),
        Snippet("hosts:", kind="system", onto=f"{_STARTED}-system.yaml"),
        Snippet("services:", kind="system", beside={"name": "shop", "hosts": {"here": {"provider": "local"}}}),
    ),
    "docs/guides/put-servers-together.md": (
        Snippet("schema: towtank/system/1", kind="system", saved="system.yaml"),
        Run("towtank doctor system.yaml"),
        Snippet("factors:", kind="study", onto="examples/balanced/study.yaml"),
        study("examples/balanced"),
        Snippet("services:", kind="system", onto="examples/repository/system.yaml"),
        study("examples/repository"),
        study("examples/order-entry"),
        Snippet("services:", kind="system", beside={"name": "shop", "hosts": {"here": {"provider": "local"}}}),
    ),
    "docs/guides/record.md": (
        Synopsis("towtank record proxy"),
        Texts("recording:1: headers"),
        Run("towtank record proxy", (Line("towtank record proxy", more="--listen 127.0.0.1:8899", serves=True),)),
        Run("chromium", (Line("chromium", shown="a window of a browser; tests/record drives one without"),)),
        Texts("shop.example: the client ended"),
        Run(
            "towtank record browser",
            (Line("towtank record browser", more="--think 1s --no-sandbox", needs="chromium"),),
        ),
        Snippet("schema: towtank/browser-script/1", kind="browser-script"),
    ),
    "docs/guides/run-in-ci.md": (
        Shown("def test_checkout(towtank)", because="tests/api/test_api_plugin.py runs such tests"),
        Shown(
            "towtank run study.yaml --set",
            because="a study of the reader; tests/integration/test_integration_run.py runs one",
        ),
        Shown("permissions:", because="tests/integration/test_integration_ci.py runs the steps of the action"),
        Shown("repos:", because="tests/integration/test_integration_ci.py runs the command of the hook"),
    ),
    "docs/guides/size-a-system.md": (
        Snippet("# shop.yaml", kind="model", saved="shop.yaml"),
        Run("$ towtank size shop.yaml"),
        Run("$ towtank size shop.yaml"),
        Snippet("# sizing.yaml", kind="sizing", saved="sizing.yaml"),
        Run("$ towtank validate sizing.yaml"),
        Run("$ towtank size examples/call-desk/desk.yaml"),
        Snippet("# machines.yaml", kind="machine", saved="machines.yaml"),
        Run("$ towtank size shop.yaml"),
    ),
    "docs/guides/when-things-go-wrong.md": (
        Run("towtank run --resume", (Line("towtank run", measures=True), Line("towtank report", measures=True))),
    ),
    "docs/guides/write-a-workload.md": (
        Snippet("schema: towtank/workload/1", kind="workload", saved="first.yaml"),
        Run("towtank drive first.yaml", (DRIVE,)),
        Snippet("transactions:", kind="workload"),
        Snippet(
            "- post: /a",
            kind="workload",
            under=("transactions", "send"),
            before=({"draw": "documents"},),
            beside={"data": {"documents": {"columns": ["name"], "rows": [["a"]]}}},
            files=dict.fromkeys(("picture.jpg", "first.jpg", "second.jpg"), "a picture"),
        ),
        Snippet(
            "data:",
            kind="workload",
            files={"documents.csv": "id,title,popularity\n1,One,3\n", "accounts.csv": "user\nana\n"},
        ),
        Snippet("- post: /documents", kind="workload", under=("transactions", "add")),
        Snippet(
            "remove_own_document:",
            kind="workload",
            under=("transactions",),
            beside={
                "transactions": {
                    "add": [{"post": "/", "extract": {"id": "$.id"}}, {"push": "${id}", "to": "own_documents"}]
                }
            },
        ),
        Snippet("- branch: 30 %", kind="workload", under=("transactions", "look")),
        Snippet("groups:", kind="workload"),
        Snippet("defaults:", kind="workload"),
        Run("towtank drive", (DRIVE,)),
        Snippet("parameters:", kind="workload"),
    ),
}
