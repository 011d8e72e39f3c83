"""LDAP directories under the load of the real engine. OpenLDAP and the engine must count the same operations."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from engine_run import drive, plan_of
from integration_bench import Bench
from patient_scrapers import patient_scrapers
from waiting import until

from towtank.study import load_study
from towtank.system.build import build_system
from towtank.system.model import load_system
from towtank.system.services.directory_users import users
from towtank.system.services.openldap import ADMINISTRATOR
from towtank.system.services.private_server import find_program
from towtank.system.system import Endpoints

EXAMPLE = Path(__file__).parents[2] / "examples" / "directory"

pytestmark = [
    pytest.mark.waits,
    pytest.mark.timeout(180),
    pytest.mark.ldap,
    pytest.mark.skipif(find_program("slapd") is None, reason="apt-get install slapd ldap-utils"),
]

SYSTEM = """
schema: towtank/system/1
name: directory
hosts: {here: {provider: local}}
services:
  people: {kind: openldap, host: here, population: {users: 20, seed: 3}, password: ADMINISTRATORS,
    settings: {size_limit: 5, sync: false}}
"""
ADMINISTRATORS = "administers.it"


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Gives requests to the server's monitor a longer time limit, because the server is under load."""
    with patient_scrapers():
        yield


class Monitor:
    """Counts of operations in OpenLDAP's monitor, without the operations that reading the monitor causes."""

    def __init__(self, scraper: Any) -> None:
        self._scraper = scraper
        self.before = scraper.scrape()
        second = scraper.scrape()
        self._own = {name: second[name] - value for name, value in self.before.items()}
        self.before = second
        self.looks = 0

    def close(self) -> None:
        self._scraper.close()

    def since(self) -> dict[str, float]:
        """Return the operations of all other clients since this object was created."""
        self.looks += 1
        now = self._scraper.scrape()
        return {name: now[name] - value - self.looks * self._own[name] for name, value in self.before.items()}

    def settled(self, enough: Callable[[dict[str, float]], bool]) -> dict[str, float]:
        """Wait until the counts satisfy `enough` and two consecutive reads are equal; return the counts.

        As long as two reads differ, operations are still in progress.
        """
        last: dict[str, float] = {}

        def look() -> dict[str, float] | None:
            nonlocal last
            now, before = self.counts(), last
            last = now
            return now if now == before and enough(now) else None

        found = until(look)
        assert found is not None
        return found

    def counts(self) -> dict[str, float]:
        """Return the number of operations by kind, and the numbers of connections and of sent entries."""
        found = self.since()
        kinds = ("bind", "search", "compare", "add", "modify", "delete", "unbind", "abandon")
        completed = {kind: found[f'openldap_completed_total{{operation="{kind}"}}'] for kind in kinds}
        return {
            **completed,
            "connections": found["openldap_connections_total"],
            "entries": found["openldap_sent_entries_total"],
        }


@pytest.mark.parametrize("connections", [pytest.param("per_user", marks=pytest.mark.smoke), 2, "new_each_time"])
def test_the_server_counts_what_the_engine_counts(bench: Bench, connections: str | int) -> None:
    changes = {"services.people.population.users": "200"}
    loaded = load_study(EXAMPLE / "study.yaml", preset="quick", changes=changes)
    spec = next(spec for spec in loaded.design() if spec.users != 1)
    with build_system(spec.system, EXAMPLE, bench.folder / "logs") as system, ExitStack() as stack:
        endpoints = system.up()
        monitor = stack.enter_context(closing(Monitor(endpoints.scrapers[0])))
        plan = spec.plan(bench.folder / "engine", endpoints.addresses, endpoints.exports, 1, []).document()
        mode = {"mode": "pool", "size": connections} if isinstance(connections, int) else {"mode": connections}
        plan["connections"] = mode
        plan["load"]["stages"] = [{**stage, "duration_s": 0.5} for stage in plan["load"]["stages"]]
        result, steps = drive(plan, bench.folder)
        count = {name: sums["ok"] for name, sums in steps.items()}
        searches = count["search by name"] + count["search by address"] + count["find the entry"]
        expected = {"bind": count["bind"], "search": searches, "entries": searches}
        seen = monitor.settled(lambda counts: counts["search"] >= searches)
        sent = monitor.since()["openldap_sent_bytes_total"]
    assert result["totals"]["failed"] == {}, result["calls"]
    assert result["totals"]["ok"] == result["totals"]["started"]
    assert {name: seen[name] for name in expected} == expected
    assert min(expected.values()) > 0
    sessions = {"per_user": None, "new_each_time": result["totals"]["ok"]}.get(str(connections))
    assert sessions is None or seen["connections"] == sessions
    # Every LDAP session sends one unbind request, either in a workload step or when the session ends.
    assert seen["unbind"] == seen["connections"]
    # The size of the monitor's own responses depends on the number of digits of its counters, so a tolerance is needed.
    assert sent == pytest.approx(sum(sums["in"] for sums in steps.values()), abs=300 * monitor.looks)


STEPS = """
schema: towtank/workload/1
name: all
transactions:
  enter:
    - ldap: {bind: "ADMINISTRATOR", password: PASSWORD}
  work:
    - set: {dn: "cn=${uuid},ou=people,dc=example,dc=org"}
    - {ldap: {add: "${dn}", entry: {objectClass: person, sn: [one, two], telephoneNumber: "1"}}, name: add}
    - ldap: {add: "${dn}", entry: {objectClass: person, sn: one}}
      name: add again
      on_failure: go_on
    - {ldap: {compare: "${dn}", attribute: sn, value: two}, name: holds, expect: {value: {matches: "true"}}}
    - {ldap: {compare: "${dn}", attribute: sn, value: six}, name: holds not, expect: {value: {matches: "false"}}}
    - ldap:
        modify: "${dn}"
        changes: {delete: {telephoneNumber: []}, add: {sn: three}, replace: {description: "a ) * \\\\ b"}}
      name: modify
      expect: {affected: 1}
    - ldap: {search: "${dn}", scope: base, attributes: [SN, description, telephoneNumber]}
      name: look
      expect: {entries: 1}
      extract: {names: {column: SN, pick: all}, text: description, none: {column: telephoneNumber, default: gone}}
    - {pop: names, into: first}
    - {pop: names, into: second}
    - {pop: names, into: third}
    - ldap: {search: "ou=people,dc=example,dc=org", filter: "(&(description=${text})(sn=${third})(sn=t*))"}
      name: find it by what it holds
      expect: {entries: {min: 1}}
    - {set: {star: "*"}}
    - ldap: {search: "ou=people,dc=example,dc=org", filter: "(uid=${star})"}
      name: a star in a value is one
      expect: {entries: 0}
    - {ldap: {search: "ou=people,dc=example,dc=org", size_limit: 3}, name: three, expect: {entries: 3}}
    - {ldap: {search: "ou=nobody,dc=example,dc=org"}, name: nowhere, on_failure: go_on}
    - {ldap: {delete: "${dn}"}, name: delete}
    - {ldap: {bind: "uid=user000001,ou=people,dc=example,dc=org", password: wrong}, name: wrong, on_failure: go_on}
    - {ldap: {bind: "uid=user000001,ou=people,dc=example,dc=org", password: RIGHT}, name: right}
    - {ldap: {search: "ou=people,dc=example,dc=org"}, name: too many, on_failure: go_on}
    - {ldap: {add: "${dn}", entry: {objectClass: person, sn: one}}, name: not allowed, on_failure: go_on}
    - {ldap: {bind: "ADMINISTRATOR", password: PASSWORD}, name: again}
groups: {g: {once: [enter], loop: {mix: {work: 100}}}}
"""
REFUSED = {
    "add again": "entryAlreadyExists",
    "too many": "sizeLimitExceeded",
    "nowhere": "noSuchObject",
    "wrong": "invalidCredentials",
    "not allowed": "insufficientAccessRights",
}


@pytest.fixture
def directory(bench: Bench) -> Iterator[Endpoints]:
    """A running LDAP server with a small directory."""
    (bench.folder / "system.yaml").write_text(SYSTEM.replace("ADMINISTRATORS", ADMINISTRATORS))
    with build_system(load_system(bench.folder / "system.yaml"), bench.folder, bench.folder / "logs") as system:
        yield system.up()


def test_every_operation_does_what_it_says(bench: Bench, directory: Endpoints) -> None:
    password = next(users(1, seed=3)).password
    text = STEPS.replace("lists: []\n", "").replace("ADMINISTRATOR", ADMINISTRATOR)
    text = text.replace("PASSWORD", ADMINISTRATORS).replace("RIGHT", password)
    (bench.folder / "workload.yaml").write_text(text)
    plan = plan_of(bench.folder, directory.addresses, users=2)
    with closing(Monitor(directory.scrapers[0])) as monitor:
        result, steps = drive(plan, bench.folder)
        seen = monitor.settled(lambda counts: counts["unbind"] == 2)
    count = {name: sums["ok"] for name, sums in steps.items()}
    times = count["again"]
    assert times > 0
    assert set(result["totals"]["failed"]) == {"refused"}, result
    assert result["calls"]["refusals"] == dict.fromkeys(sorted(REFUSED.values()), times)
    assert {name for name, ok in count.items() if not ok} == set(REFUSED)
    assert seen["add"] == 3 * times
    assert (seen["compare"], seen["modify"], seen["delete"]) == (2 * times, times, times)
    assert seen["bind"] == 3 * times + 2


def slapd_below(guard: int) -> int:
    """Return the process id of the LDAP server `slapd` below a guard process."""
    children = Path(f"/proc/{guard}/task/{guard}/children").read_text().split()
    (found,) = [int(child) for child in children if "slapd" in Path(f"/proc/{child}/cmdline").read_text()]
    return found


def _state(task: Path) -> str:
    """Return the state of a thread, such as R (running), S (sleeping) or T (stopped)."""
    return (task / "stat").read_text().rpartition(")")[2].split()[0]


@contextmanager
def held(process: int) -> Iterator[None]:
    """Suspend a server process until the end of the block. The server handles data from this time after the block."""
    os.kill(process, signal.SIGSTOP)
    try:
        # On a busy machine the threads stop some time after the signal is sent.
        until(lambda: all(_state(task) == "T" for task in Path(f"/proc/{process}/task").iterdir()))
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def test_what_is_out_of_time_is_abandoned(bench: Bench, directory: Endpoints) -> None:
    (bench.folder / "workload.yaml").write_text(
        "schema: towtank/workload/1\nname: w\n"
        "transactions: {t: [{ldap: {search: 'dc=example,dc=org', scope: base}, name: look, timeout: 200 ms}]}\n"
        "groups: {g: {loop: {think: {fixed: 20 ms}, mix: {t: 100}}}}\n"
    )
    plan = plan_of(bench.folder, directory.addresses, users=4)
    with closing(Monitor(directory.scrapers[0])) as monitor:
        with held(slapd_below(directory.groups["people"])):
            result, _ = drive(plan, bench.folder)
        late = result["totals"]["started"]
        seen = monitor.settled(lambda counts: counts["unbind"] >= late)
    assert result["totals"]["failed"] == {"timeout": late}, result
    assert late > 0
    assert (seen["search"], seen["abandon"], seen["unbind"], seen["connections"]) == (late, late, late, late)
