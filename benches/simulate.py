"""Measures the speed of the simulator: events per second of CPU time on one thread, compared with SimPy and Ciw.

An event is an entry of the event calendar: an arrival from outside, the end of a service, or the end of a think time. A
customer's move to the next station is part of the end of its service, not an event of its own. So M/M/1 has two events
per customer in every simulator, and the closed network has eleven events per cycle through its ten stations.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import harness

from towtank.engine import binary

# Events per second of CPU time that the simulator should reach. [1/s]
_TARGETS = {"single": 15e6, "closed": 5e6}
_SIMPY = """
import random, sys, simpy
customers = int(sys.argv[1])
random.seed(1)
environment = simpy.Environment()
server = simpy.Resource(environment)
def customer():
    with server.request() as request:
        yield request
        yield environment.timeout(random.expovariate(1.0))
def source():
    for _ in range(customers):
        yield environment.timeout(random.expovariate(0.8))
        environment.process(customer())
environment.process(source())
environment.run()
"""
_CIW = """
import sys, ciw
customers = int(sys.argv[1])
ciw.seed(1)
network = ciw.create_network(arrival_distributions=[ciw.dists.Exponential(0.8)],
    service_distributions=[ciw.dists.Exponential(1.0)], number_of_servers=[1])
ciw.Simulation(network).simulate_until_max_customers(customers)
"""
_PEERS = {"simpy": _SIMPY, "ciw": _CIW}


def run(*, quick: bool) -> None:
    """Measure each simulator in every round, print medians with intervals and targets, and store the single results."""
    events = 20_000_000 if quick else 100_000_000
    customers = 20_000 if quick else 100_000
    names = ["single", "closed", *(name for name in _PEERS if find_spec(name))]

    def once(name: str) -> dict[str, Any]:
        return _peer(name, customers) if name in _PEERS else _own(name, events)

    runs = harness.turns(names, 3 if quick else 10, once)
    for name in names:
        rates = [row["events_per_s"] / 1e6 for row in runs if row["generator"] == name]
        target = f", target {_TARGETS[name] / 1e6:g} M" if name in _TARGETS else ""
        print(f"  {name}: {harness.shown(harness.interval(rates))} M events/s of processor time{target}")
    for name in _PEERS:
        if name in names:
            print(f"  single over {name}: {harness.shown(harness.ratio(runs, 'events_per_s', 'single', name))} times")
        else:
            print(f"  {name}: skipped, it is not installed (uv sync --group dev)")
    harness.keep("simulate", {"events": events, "customers": customers}, runs=runs, targets_per_s=_TARGETS)


def _model(name: str) -> dict[str, Any]:
    """Return the model `single`, a server at a utilization of 0.8, or `closed`.

    In the model `closed`, 1,000 users visit ten stations, of which the slowest is nearly saturated.
    """
    if name == "single":
        service = {"class": "jobs", "service_time_s": 1.0}
        return {
            "classes": [{"name": "jobs", "arrival_rate_per_s": 0.8}],
            "stations": [{"name": "s", "services": [service]}],
        }
    stations = [
        {"name": f"s{k}", "services": [{"class": "jobs", "service_time_s": 0.001 * (k + 1)}]} for k in range(10)
    ]
    return {"classes": [{"name": "jobs", "users": 1000, "think_time_s": 8.0}], "stations": stations}


def _own(name: str, events: int) -> dict[str, Any]:
    command = [str(binary()), "simulate", "--threads", "1", "--precision", "1e-9", "--events", str(events)]
    before = _cpu_s()
    done = subprocess.run(command, input=json.dumps(_model(name)), capture_output=True, text=True, check=True)
    spent = _cpu_s() - before
    taken = json.loads(done.stdout)["answers"][0]["simulation"]["events"]
    return {"events": taken, "cpu_s": spent, "events_per_s": taken / spent}


def _peer(name: str, customers: int) -> dict[str, Any]:
    """Run another simulator in its own process; subtract the CPU time of its start and imports."""
    spent = []
    for count in (1, customers):
        before = _cpu_s()
        subprocess.run([sys.executable, "-c", _PEERS[name], str(count)], check=True, capture_output=True)
        spent.append(_cpu_s() - before)
    cpu_s = spent[1] - spent[0]
    return {"events": 2 * customers, "cpu_s": cpu_s, "events_per_s": 2 * customers / cpu_s}


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
