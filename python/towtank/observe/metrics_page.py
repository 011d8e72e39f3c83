"""Generates the Markdown reference page of all metrics: `python -m towtank.observe.metrics_page`."""

from __future__ import annotations

import sys

from towtank.observe.metric import Table
from towtank.observe.metrics import TABLES

_PREFACE = """\
<!-- Made by `python -m towtank.observe.metrics_page`; change the tables in `metrics.py`. -->

# Metrics

Series that Towtank samples and scrapes during a run. The probe samples the host and groups of processes; one thread of
the conductor scrapes the services. Both work at the same regular times, the multiples of the interval on
CLOCK_MONOTONIC, so the samples of all streams are simultaneous. One more sample, not at a regular time, is taken when
the run ends. A late sample records its delay. A sample that could not be taken is left out; it is not interpolated.

A *counter* counts from an arbitrary start and only grows, so only its differences have a meaning. A *gauge* is the
value at the time of the sample. Values that the kernel or the service does not report are left out; they are not
replaced by zero.

## How a group is counted

A group is a root process and its descendants. A process that was once observed in a group remains in the group, even
if its parent ends first. A process that appears after its parent has ended is recognised as a member of the group by
any of four traces:

1. The kernel made it a child of the root, because the root is a reaper. The guard is a reaper, so this holds for every
   process that Towtank starts, also on hosts of providers `namespaces` and `ssh`.
2. It is in the control group of the root, and no other group uses this control group. Examples are a unit of systemd
   and a container.
3. A member of the group is or was the leader of its session.
4. Its code, stack, heap and arguments have the same addresses as those of a member. `exec` chooses these addresses at
   random and `fork` keeps them, so a worker that detaches by `fork` alone has the addresses of the named program.

A process that was named by its id, detached before the first sample and then called `exec` has neither of the last two
traces. Its use of resources is not attributed to the group (see [Summaries](summary.md)). The start time distinguishes
processes with the same id.

Time, page faults and input/output of descendants remain counted after their end. The kernel adds them to the process
that waits for the descendant; within a group, they are not counted twice. If no process waits for a descendant, its
last sampled values remain, unless the group's own control group or a root that is a reaper counts the descendant. The
totals therefore never decrease and never exceed the true use. They lack only the use of such a descendant between its
last sample and its end.

The kernel reports context switches and waits for a CPU only for living threads; for a thread that has ended, the last
sampled values remain. The long `status` of a thread is read only if its `schedstat` shows that the thread has run since
the last sample, because a thread that did not run has no context switches.

## Metrics of services

Any page in the Prometheus text format (`source` `prometheus`) is recorded as series by name with labels, without values
that are not finite and without the `_created` series. Cost: one exchange over a persistent connection, and the CPU time
to parse the page, about 2 µs per series.

Values beyond 1e30 are left out of the metrics of every service. A line records their number as `left_out`, and a
message of the run reports the number of affected metrics and the name of one of them. Each line of a service's stream
has `took_s`, the duration of the scrape, and `cpu_s_total`, the CPU time of the thread that scrapes all services. A
failed scrape is recorded as a line with the reason.
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
