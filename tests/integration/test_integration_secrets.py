"""Secrets do not leak. Every setting that can hold a secret contains a canary (a unique value); afterwards, only the
expected private files contain canaries.
"""

from __future__ import annotations

import base64
import json
import stat
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from canaries import Arguments, Found, canary, found_in, listening, search
from integration_bench import Bench

from towtank.system.services.private_server import find_program

# Several real servers start one after the other, which takes long on a busy machine.
pytestmark = [pytest.mark.waits, pytest.mark.timeout(600)]

PRIVATE = ("plan.json", "files/*", "secrets.json")
EXPORTS = ("csv", "hlog", "jtl", "junit", "markdown", "openmetrics", "otlp", "parquet")

STUDY = f"""
schema: towtank/study/1
name: guarded
system: system.yaml
workload: workload.yaml
overrides: {{parameters.pin: {canary("override")}}}
factors:
  users: [2]
load:
  kind: closed
  stages: {{ramp_up: 200 ms, settle: 200 ms, steady: 1500 ms}}
"""
SYSTEM = """
schema: towtank/system/1
name: guarded
services:
  web:
    kind: existing
    address: "http://{user}:{password}@127.0.0.1:{port}"
    metrics: "/metrics?token={metrics}"
    observe: {{prometheus: "http://{page}:{page}@127.0.0.1:{port}/page?key={page}"}}
  gone:
    kind: existing
    address: "http://127.0.0.1:{port}"
    observe: {{prometheus: "http://{gone}:{gone}@127.0.0.1:9/page?key={gone}"}}
targets:
  web: {{service: web}}
"""
WORKLOAD = f"""
schema: towtank/workload/1
name: guarded
parameters: {{password: {canary("parameter")}, pin: plain, mine: {canary("used")}}}
defaults:
  headers: {{X-Api-Key: {canary("apikey")}}}
data:
  people: {{columns: [name, password], rows: [[ann, {canary("row")}], [bob, {canary("row")}]]}}
transactions:
  look:
    - draw: people
    - post: "/login?token={canary("query")}&page=2"
      headers: {{Authorization: "Bearer {canary("bearer")}", Cookie: "session={canary("cookie")}"}}
      form: {{user: ann, password: {canary("form")}}}
    - get: "/list?token={canary("second")}&page=2"
    - get: "/list?token={canary("third")}&page=2"
      auth: {{user: ann, password: "${{parameters.mine}}"}}
    - post: /json
      json: {{user: ann, secret: {canary("json")}, otp: "${{parameters.pin}}"}}
    - post: /text
      body: "<password>{canary("body")}</password>"
groups:
  readers: {{loop: {{think: {{fixed: 20 ms}}, mix: {{look: 100}}}}}}
"""


def write_study(bench: Bench, port: int) -> None:
    """Write a study with a canary in every setting that can hold a secret."""
    names = {name: canary(name) for name in ("user", "password", "metrics", "page", "gone")}
    (bench.folder / "study.yaml").write_text(STUDY)
    (bench.folder / "system.yaml").write_text(SYSTEM.format(port=port, **names))
    (bench.folder / "workload.yaml").write_text(WORKLOAD)


def run(bench: Bench, *arguments: str | Path) -> str:
    process = bench.start(*arguments)
    output, errors = process.communicate(timeout=240)
    assert process.returncode in (0, 4), errors
    return output + errors


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def assert_kept_private(found: Found, *names: str) -> None:
    assert found.open == {}
    assert set(names) <= found.private


@pytest.fixture
def arguments() -> Arguments:
    return Arguments()


def test_a_study_keeps_its_secrets(bench: Bench, arguments: Arguments) -> None:
    secret = ("--set", f"parameters.password={canary('set')}", "--set", f"parameters.mine={canary('setused')}")
    with listening() as server, arguments.watching():
        write_study(bench, server.port)
        said = run(bench, "run", "study.yaml", "--out", bench.results, *secret)
    assert found_in(said) == []
    assert arguments.found == {}
    assert any("towtank-engine" in text for text in arguments.seen)
    found = search(bench.results, PRIVATE)
    assert_kept_private(found, "runs/r001/plan.json", "files/workload.yaml", "files/system.yaml", "secrets.json")
    assert stat.S_IMODE(bench.results.stat().st_mode) == 0o700
    assert (bench.results / "report.html").is_file()
    steps = json.loads((bench.results / "runs/r001/plan.json").read_text())["steps"]
    assert [step["name"] for step in steps] == [
        "POST /login?token=***&page=2",
        "GET /list?token=***&page=2",
        "GET /list?token=***&page=2 (2)",
        "POST /json",
        "POST /text",
    ]
    # The login in the address is sent with every request without another authorization, including requests for the
    # metrics page.
    assert server.authorizations("/json") == {basic(canary("user"), canary("password"))}
    assert server.authorizations("/metrics") == {basic(canary("user"), canary("password"))}
    assert server.authorizations("/page") == {basic(canary("page"), canary("page"))}
    assert server.authorizations("/login") == {f"Bearer {canary('bearer')}"}
    assert basic("ann", canary("setused")) in server.authorizations("/list")


# These values do not look like secrets. Only their keys identify them as secrets.
LETTERS, DIGITS = "canarybird", "90817263"
PLAIN_WORKLOAD = f"""
schema: towtank/workload/1
name: guarded
parameters: {{pass: plain, dbpass: {LETTERS}, signing_key: {LETTERS}}}
transactions:
  look:
    - post: "/login?pass=${{parameters.pass}}&pin={DIGITS}&page=2"
      headers: {{X-Auth-Key: "${{parameters.signing_key}}"}}
      form: {{user: ann, passcode: {LETTERS}, pin: "{DIGITS}"}}
    - get: "/list?pass={LETTERS}&code={LETTERS}&key={LETTERS}&q=blue"
groups:
  readers: {{loop: {{think: {{fixed: 20 ms}}, mix: {{look: 100}}}}}}
"""


def test_secrets_that_look_plain_are_kept_as_well(bench: Bench) -> None:
    with listening() as server:
        write_study(bench, server.port)
        (bench.folder / "study.yaml").write_text(STUDY.replace("overrides:", "# overrides:"))
        (bench.folder / "workload.yaml").write_text(PLAIN_WORKLOAD)
        said = run(bench, "run", "study.yaml", "--out", bench.results, "--set", f"parameters.pass={LETTERS}")
    assert LETTERS not in said and DIGITS not in said
    paths = [path for path in bench.results.rglob("*") if path.is_file()]
    assert any(path.name == "report.html" for path in paths)
    holding = {path for path in paths for mark in (LETTERS, DIGITS) if mark.encode() in path.read_bytes()}
    shown = {path.relative_to(bench.results) for path in holding}
    assert {path for path in shown if not any(path.match(pattern) for pattern in PRIVATE)} == set()
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in holding)
    steps = json.loads((bench.results / "runs/r001/plan.json").read_text())["steps"]
    names = [step["name"] for step in steps]
    assert names == ["POST /login?pass=***&pin=***&page=2", "GET /list?pass=***&code=***&key=***&q=blue"]


def test_reports_and_exports_of_a_study_hold_no_secret(bench: Bench) -> None:
    with listening() as server:
        write_study(bench, server.port)
        run(bench, "run", "study.yaml", "--out", bench.results, "--quiet", "--no-report")
    said = run(bench, "report", bench.results)
    for form in EXPORTS:
        said += run(bench, "export", bench.results, "--to", form)
    assert found_in(said) == []
    assert search(bench.results, PRIVATE).open == {}


def test_a_study_is_resumed_with_its_secrets(bench: Bench) -> None:
    secret = ("--set", f"parameters.mine={canary('kept')}")
    with listening() as server:
        write_study(bench, server.port)
        run(bench, "run", "study.yaml", "--out", bench.results, "--quiet", "--no-report", *secret)
        manifest = bench.results / "runs" / "r001" / "run.json"
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "status": "running"}))
        (bench.folder / "workload.yaml").unlink()
        server.asked.clear()
        said = run(bench, "run", "--resume", bench.results, "--quiet", "--no-report")
    assert basic("ann", canary("kept")) in server.authorizations("/list")
    assert found_in(said) == []
    assert search(bench.results, PRIVATE).open == {}


def test_resuming_without_the_secrets_is_refused(bench: Bench) -> None:
    with listening() as server:
        write_study(bench, server.port)
        run(bench, "run", "study.yaml", "--out", bench.results, "--quiet", "--no-report", "--set", "parameters.mine=x")
    (bench.results / "secrets.json").unlink()
    ended = bench.towtank("run", "--resume", bench.results)
    assert ended.returncode == 2
    message = "secrets.json: must exist to resume the study, because it contains the values of parameters.mine=***"
    assert message in ended.stderr


def test_one_url_keeps_its_secrets(bench: Bench, arguments: Arguments) -> None:
    out = bench.folder / "kept"
    options = ["--header", f"X-Api-Key: {canary('header')}", "--body", f"password={canary('body')}"]
    with listening() as server, arguments.watching():
        url = f"http://{canary('user')}:{canary('word')}@127.0.0.1:{server.port}/list?token={canary('token')}&page=2"
        said = run(bench, "drive", url, *options, "--duration", "1 s", "--out", out)
        said += run(bench, "drive", url, *options, "--duration", "1 s", "--json")
        assert server.authorizations("/list") == {basic(canary("user"), canary("word"))}
    assert found_in(said) == []
    assert arguments.found == {}
    assert_kept_private(search(out, PRIVATE), "plan.json")
    assert stat.S_IMODE(out.stat().st_mode) == 0o700


def test_the_login_of_a_target_of_a_workload_is_used(bench: Bench) -> None:
    out = bench.folder / "kept"
    with listening() as server:
        write_study(bench, server.port)
        where = f"web=http://{canary('user')}:{canary('word')}@127.0.0.1:{server.port}"
        text = WORKLOAD.replace("defaults:\n", "defaults:\n  target: web\n")
        (bench.folder / "workload.yaml").write_text(text)
        said = run(bench, "drive", "workload.yaml", "--address", where, "--duration", "1 s", "--out", out)
    assert server.authorizations("/json") == {basic(canary("user"), canary("word"))}
    assert found_in(said) == []
    assert_kept_private(search(out, PRIVATE), "plan.json")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["http://u:PW@127.0.0.1:9/", "--header", "Authorization: x"], "--header: must not be Authorization if the"),
        (["http://127.0.0.1:9/", "--connect-to", "u:PW@127.0.0.1:9"], "--connect-to: must have no login"),
        (["workload.yaml", "--address", "tcp://u:PW@127.0.0.1:9"], "must have no login: tcp:// uses none"),
        (["workload.yaml", "--address", "u:PW@127.0.0.1:x"], "must have a port from 0 to 65535"),
        (["ftp://u:PW@127.0.0.1/"], "must be a URL such as http://host:port/path"),
        (
            ["workload.yaml", "--address", "http://u:PW@127.0.0.1:9", "--address", "http://127.0.0.1:9"],
            "--address: must have the same login in every address, or no login in any",
        ),
    ],
)
def test_a_login_that_cannot_be_used_is_refused_without_showing_it(
    bench: Bench, arguments: list[str], said: str
) -> None:
    bench.study()
    ended = bench.towtank("drive", *(text.replace("PW", canary("word")) for text in arguments))
    assert ended.returncode == 2
    assert said in ended.stderr
    assert found_in(ended.stdout + ended.stderr) == []


def test_an_endpoint_with_a_login_is_refused_without_showing_it(bench: Bench) -> None:
    bench.study(users=[2])
    assert bench.run_study().returncode in (0, 4)
    endpoint = f"http://u:{canary('word')}@127.0.0.1:9"
    ended: subprocess.CompletedProcess[str]
    ended = bench.towtank("export", bench.results, "--to", "otlp", "--endpoint", endpoint)
    assert ended.returncode == 2
    assert "without login and query" in ended.stderr
    assert found_in(ended.stdout + ended.stderr) == []


# Two of these servers check logins, and the content server gets the address of one of the two.
DATABASES = """
schema: towtank/system/1
name: stores
hosts: {here: {provider: local}}
services:
  shop: {kind: mariadb, host: here, user: shop, password: %s}
  held: {kind: postgresql, host: here}
"""
CONTENT = """
schema: towtank/system/1
name: contents
hosts: {here: {provider: local}}
services:
  content:
    kind: content_server
    host: here
    settings: {database: "%s"}
    population: {scale: 0.0001}
start_timeout: 60 s
"""
STATEMENTS = """
schema: towtank/workload/1
name: asks
defaults: {target: shop}
transactions:
  look: [{sql: "SELECT '%s'"}, {sql: "SELECT '%s'"}]
groups:
  readers: {loop: {think: {fixed: 20 ms}, mix: {look: 100}}}
"""
LIGHT = """
schema: towtank/study/1
name: light
system: system.yaml
workload: workload.yaml
factors: {users: [1]}
load: {kind: closed, stages: {ramp_up: 100 ms, settle: 100 ms, steady: 1 s}}
"""


def with_password(address: str, password: str) -> str:
    """Change the password of a PostgreSQL user; return the address with the new password."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"ALTER ROLE towtank PASSWORD '{password}'")
    return address.replace(f":{urlsplit(address).password}@", f":{password}@")


@pytest.mark.skipif(
    not all(map(find_program, ("mariadbd", "postgres"))),
    reason="needs databases: apt-get install mariadb-server postgresql",
)
def test_logins_of_databases_are_in_no_arguments(bench: Bench, arguments: Arguments) -> None:
    (bench.folder / "stores.yaml").write_text(DATABASES % canary("shop"))
    (bench.folder / "study.yaml").write_text(LIGHT)
    (bench.folder / "workload.yaml").write_text(WORKLOAD_OF_CONTENT)
    with arguments.watching():
        said = run(bench, "system", "up", "stores.yaml", "--quiet")
        state = json.loads((bench.folder / "state" / "up" / "stores.json").read_text())
        held = with_password(state["addresses"]["held"][0], canary("held"))
        (bench.folder / "system.yaml").write_text(CONTENT % held)
        said += run(bench, "run", "study.yaml", "--out", bench.results, "--no-report")
        (bench.folder / "workload.yaml").write_text(STATEMENTS % (canary("first"), canary("second")))
        shop = state["addresses"]["shop"][0]
        options = ("--address", shop, "--duration", "1 s", "--out", bench.folder / "kept")
        said += run(bench, "drive", "workload.yaml", *options)
        said += run(bench, "system", "status") + run(bench, "system", "down", "stores.yaml")
    assert found_in(said) == []
    assert "shop answers at mysql://***@127.0.0.1:" in said
    assert "held answers at postgresql://***@127.0.0.1:" in said
    assert arguments.found == {}
    assert any("content_server serve" in text for text in arguments.seen)
    assert_kept_private(search(bench.results, PRIVATE), "files/system.yaml")
    kept = search(bench.folder / "kept", PRIVATE)
    assert_kept_private(kept, "plan.json")
    steps = json.loads((bench.folder / "kept" / "plan.json").read_text())["steps"]
    assert [step["name"] for step in steps] == ["SELECT '***'", "SELECT '***' (2)"]


WORKLOAD_OF_CONTENT = """
schema: towtank/workload/1
name: look
transactions:
  look: [{get: /metrics}]
groups:
  readers: {loop: {think: {fixed: 20 ms}, mix: {look: 100}}}
"""
