"""Generates the reference page of all metrics from their tables: `python -m towtank.observe.metrics_page`."""

from __future__ import annotations

import sys

from towtank.observe.metric import Table
from towtank.observe.metrics import TABLES

_PREFACE = """\
<!-- Made by `python -m towtank.observe.metrics_page`; change the tables in `metrics.py`. -->

# Metrics

Series that Towtank samples and scrapes during a run. The probe samples the host and groups of processes; one thread of
the conductor scrapes the services. Both use the same grid: the multiples of the interval on CLOCK_MONOTONIC, so that
samples of all streams are simultaneous; one more sample, off the grid, is taken when the run ends. A late sample states
its delay; a sample that could not be taken is left out, never interpolated.

A *counter* counts from some start and only grows: take differences. A *gauge* is the value of the moment. Values that
the kernel or the service does not offer are left out, never zero.

## How a group is counted

A group is a root process and its descendants. A process that was seen in a group belongs to it for good, even if its
parent ends before it. A process that appears after its parent has ended belongs to the group by one of four traces:

1. The kernel made it a child of the root, because the root is a reaper. The guard is a reaper, so this holds for every
   process that Towtank starts, also on hosts of providers `namespaces` and `ssh`.
2. It is in the control group of the root, if that is the group's own: a unit of systemd, a container.
3. Its session was led by a member.
4. It has the addresses of code, stack, heap and arguments of a member. `exec` draws them at random and `fork` keeps
   them, so a worker that detaches by `fork` alone has those of the program that was named.

A process that was named by its number, detached before the first sample and then called `exec` leaves neither of the
last two traces. Its use is not attributed (see [Summaries](summary.md)). The start time distinguishes processes with
the same number.

Time, page faults and input/output of descendants that ended stay counted. The kernel credits them to the process that
waits for them; credits within the group are not counted again, and a process that nobody waits for keeps its last
sampled values, unless a control group of its own or a root that is a reaper counts it. So the totals never shrink and
never exceed the true use; they lack only the use of such a process between its last sample and its end. The kernel
reports context switches and waiting for a CPU for living threads only; those of a thread that ended keep their last
sampled values. The long `status` of a thread is read only if its `schedstat` shows that it ran since the last sample: a
thread that did not run has not switched.

## Metrics of services

Any page in the Prometheus text format (`source` `prometheus`) is recorded as it is: series by name with labels, without
values that are not finite and without the `_created` series. Values beyond 1e30 are left out of every service's
metrics; `left_out` of a line is their number, and the run says which they were. Cost: one exchange over a kept
connection, and the CPU time to parse the page, about 2 µs per series. Each line of a service's stream has `took_s`, the
time of this scrape, and `cpu_s_total`, the CPU time of the thread that scrapes all services. A failed scrape is a line
of its own with the reason.
"""


def _rows(table: Table) -> str:
    rows = (f"| `{m.name}` | {m.unit} | {m.kind} | {m.source} | {m.meaning} |" for m in table.metrics)
    return "\n".join(rows)


def document() -> str:
    """Return the reference page of all metrics as Markdown."""
    parts = [_PREFACE]
    for table in TABLES:
        head = f"\n## {table.title}\n\nIn {table.place}. Cost: {table.cost}.\n\n"
        parts.append(f"{head}| name | unit | kind | read from | meaning |\n|---|---|---|---|---|\n{_rows(table)}\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(document())
