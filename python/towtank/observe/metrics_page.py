"""Makes the reference page of all metrics from their tables: `python -m towtank.observe.metrics_page`."""

from __future__ import annotations

import sys

from towtank.observe.metric import Table
from towtank.observe.metrics import TABLES

_PREFACE = """\
<!-- Made by `python -m towtank.observe.metrics_page`; change the tables in `metrics.py`. -->

# Metrics

What is sampled and scraped during a run. The probe samples the host and groups of processes; one thread of the
conductor asks the services. Both work on the same grid: the multiples of the interval on CLOCK_MONOTONIC, so that
samples of all streams stand side by side; one more is taken off the grid when the run ends. A sample that comes late
says by how much; one that could not be taken is left out, never made up.

A *counter* counts from some start and only grows: take differences. A *gauge* is the value of the moment. What the
kernel or the service does not offer is left out, never zero.

## How a group is counted

A group is a root process and its descendants. A process belongs to it for good once it was seen there, also when its
parent ends before it. One that appears after its parent has ended belongs to the group by one of four traces:

1. The kernel made it a child of the root, because the root is a reaper. The guard is one, so that this holds for every
   process that Towtank starts, also on hosts of providers `namespaces` and `ssh`.
2. It is in the control group of the root, if that is the group's own: a unit of systemd, a container.
3. Its session was led by a member.
4. It has the addresses of code, stack, heap and arguments of a member. `exec` draws them at random and `fork` keeps
   them, so a worker that detaches by `fork` alone has those of the program that was named.

A process that was named by its number, detached before the first sample and became another program leaves none of the
last two. What it uses is not attributed (see [Summaries](summary.md)). A reused process number is distinguished by the
start of the process.

Time, page faults and input/output of descendants that ended stay counted. The kernel credits them to the process that
waits for them; what it credits within the group is never counted again, and what nobody waits for keeps the value it
was last seen with, unless a control group of its own or a root that is a reaper counts it. So the totals never shrink
and never exceed what was used; they fall short only by what such a process used between its last sample and its end.
Context switches and waiting for a CPU are told by the kernel for living threads only; those of a thread that ended keep
the value it was last seen with. To spare reading the long `status` of every thread, it is read only for threads whose
`schedstat` shows that they ran since the last sample: a thread that did not run has not switched.

## What a service tells

Any page in the Prometheus text format (`source` `prometheus`) is recorded as it is: series by name with labels, what
is not finite and the `_created` series left out. Cost: one exchange over a kept connection, and the CPU time to read
the page, about 2 µs per series. Each line of a service's stream has `took_s`, the time of this scrape, and
`cpu_s_total`, the CPU time of the thread that asks all services. A scrape that fails is a line of its own with the
reason.
"""


def _rows(table: Table) -> str:
    rows = (f"| `{m.name}` | {m.unit} | {m.kind} | {m.source} | {m.meaning} |" for m in table.metrics)
    return "\n".join(rows)


def document() -> str:
    """Write the reference page as Markdown."""
    parts = [_PREFACE]
    for table in TABLES:
        head = f"\n## {table.title}\n\nIn {table.place}. Cost: {table.cost}.\n\n"
        parts.append(f"{head}| name | unit | kind | read from | meaning |\n|---|---|---|---|---|\n{_rows(table)}\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(document())
