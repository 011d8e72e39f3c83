"""Creates the texts of the files of a first study, with comments on what to change."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

# Words that YAML 1.1 or 1.2 does not read as text, such as `true`, and that therefore need quotes.
_WORDS_OF_YAML = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_WRITTEN = "# Written by `towtank init`. `towtank validate` checks the file after a change.\n"


@dataclass(frozen=True)
class Running:
    """Application that runs already, at `http://host:port`, on this machine or elsewhere."""

    name: str
    address: str
    is_here: bool


@dataclass(frozen=True)
class Started:
    """Application that Towtank starts.

    The arguments have `${port}` instead of the port number, which is 0 for any free port. The working folder is
    relative to the system file; the environment is from the assignments before the command.
    """

    name: str
    program: str
    arguments: tuple[str, ...]
    port: int
    folder: str
    environment: dict[str, str]


def quoted(text: str) -> str:
    """Return a text as a double-quoted scalar of YAML.

    Examples
    --------
    >>> quoted('--port=${port} "x"')
    '"--port=${port} \\\\"x\\\\""'
    """
    return json.dumps(text, ensure_ascii=False)


def plain(name: str) -> str:
    """Return a name of lower-case letters, digits and underscores as a scalar of YAML, with quotes if YAML needs them.

    Examples
    --------
    >>> plain("shop"), plain("true")
    ('shop', '"true"')
    """
    return quoted(name) if name in _WORDS_OF_YAML else name


def study_text(name: str, started: str | None) -> str:
    """Return the text of the study file; `started` is the name of a service with settings."""
    settings = f"""  # A setting of a service can be a factor, too:
  # workers:
  #   two: {{services.{started}.settings.workers: 2}}
  #   four: {{services.{started}.settings.workers: 4}}
"""
    return f"""{_WRITTEN}# Run it with `towtank run`. Each level of the factors is a run of about 25 s.
schema: towtank/study/1
name: {plain(name)}
title: First study of {name}
question: How many users can the application serve, and what limits it?

system: system.yaml
workload: workload.yaml
seed: 1

factors:
  # Concurrent users. Add levels until the throughput no longer rises.
  users: [2, 8, 32]
{settings if started else ""}
load:
  kind: closed
  # `settle` is not measured: give it the time that caches and pools need. `steady` is the window of measurement.
  stages: {{ramp_up: 1 s, settle: 3 s, steady: 20 s, ramp_down: 500 ms}}

# Several runs of each level show how much results differ by chance:
# repetitions: 3

# What the application has to achieve; the exit status is 3 if it does not:
# objectives:
#   - p95 < 500 ms
#   - errors < 1 %
"""


def system_text(name: str, services: Iterable[Running | Started]) -> str:
    parts = list(services)
    local = any(isinstance(part, Started) or part.is_here for part in parts)
    hosts = "\nhosts:\n  here: {provider: local}\n" if local else ""
    body = "\n".join(_running(part) if isinstance(part, Running) else _started(part) for part in parts)
    head = f"{_WRITTEN}schema: towtank/system/1\nname: {plain(name)}\ntitle: The application and where it runs\n"
    return f"{head}{hosts}\nservices:\n{body}"


_METRICS = """    # Towtank observes CPUs, memory, disks, networks, and the connections between servers of this machine.
    # It finds connection pools without a free connection, and contended locks of PostgreSQL. To find a lock or
    # a pool within the application, it needs a page of metrics in the Prometheus text format:
    # metrics: /metrics
"""


def _running(part: Running) -> str:
    where = "    host: here\n" if part.is_here else ""
    return f"""  {plain(part.name)}:
    # The application runs already: Towtank neither starts nor stops it.
    kind: existing
{where}    address: {quoted(part.address)}
{_METRICS}"""


def _started(part: Started) -> str:
    port = "# A free port; the program gets it as ${port}." if part.port == 0 else "# 0 chooses a free port."
    lines = [
        f"  {plain(part.name)}:",
        "    # Towtank starts the application before each run, and ends it afterwards.",
        "    kind: command",
    ]
    lines += ["    host: here", f"    program: {quoted(part.program)}", "    arguments:"]
    lines += [f"      - {quoted(text)}" for text in part.arguments] or []
    if not part.arguments:
        lines[-1] = "    arguments: []"
    lines += ["    # Working folder, relative to this file.", f"    folder: {quoted(part.folder)}"]
    lines += [f"    {port}", f"    port: {part.port}"]
    if part.environment:
        lines += ["    environment:", *(f"      {name}: {quoted(text)}" for name, text in part.environment.items())]
    lines += [
        "    # Numbers and names that a study can vary; arguments refer to them as ${settings.workers}.",
        "    # settings: {workers: 2}",
        "    # The application counts as ready once its port accepts connections. Another check:",
        "    # ready: {page: /health}",
    ]
    return "\n".join(lines) + "\n" + _METRICS


def workload_text(name: str, target: str, path: str) -> str:
    """Return the text of a workload that requests a single page."""
    return f"""{_WRITTEN}schema: towtank/workload/1
name: {plain(name)}
title: Users who request one page

defaults:
  target: {plain(target)}
  # Time between a response and the next transaction of the same user: 200 ms on average.
  think: {{exponential: 200 ms}}

transactions:
  page:
    - get: {quoted(path)}
      check: {{status: 200}}
  # A transaction with several requests:
  # order:
  #   - get: /cart
  #   - post: /order
  #     json: {{item: 1}}

groups:
  users:
    loop:
      # Weights: with `page: 80, order: 20`, 20 % of the transactions are orders.
      mix: {{page: 1}}
"""


def imported_text(text: str) -> str:
    """Return the text of an imported workload, with a first line that names `towtank init` as its origin."""
    return _WRITTEN + text
