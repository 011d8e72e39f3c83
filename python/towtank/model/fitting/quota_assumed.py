"""Lists the assumptions of a model about CPU quotas. A quota limits the CPU time in each period, whereas the model
limits the number of processors.
"""

from __future__ import annotations

import math

from towtank.model.capacity_file import FitAssumption
from towtank.model.fitting.measured import Configuration, Resource
from towtank.model.quota import PERIOD_S


def quota_assumptions(configuration: Configuration) -> list[FitAssumption]:
    """Return the assumptions about resources under a CPU quota, with the measured effect of the quota.

    Notes
    -----
    A quota of c CPUs on a larger machine grants the CPU time c P in each period P. The model has ceil(c) servers of c /
    ceil(c) CPUs each, which gives the correct maximum throughput. A transaction that runs alone takes its CPU time D on
    the host, but D ceil(c) / c in the model. If more than c transactions run at the same time, they use up the quota
    before the period ends, and all of them pause for the rest of the period. These pauses affect high percentiles and
    are not modelled.
    """
    found = []
    for resource in configuration.resources:
        hosts = [
            host
            for run in configuration.runs
            for host in run.hosts.values()
            if host.cpus_virtual is not None and set(host.tiers) & set(resource.tiers)
        ]
        limits = [float(host.cpus_virtual or 0.0) for host in hosts] or _of_control_groups(configuration, resource)
        if not limits:
            continue
        cpus = limits[0]
        whole = math.isclose(cpus, resource.servers)
        slower = "" if whole else f" of {cpus / resource.servers:.3g} CPUs each"
        count = f"{resource.servers} server{'s' if resource.servers > 1 else ''}"
        alone = "" if whole else f"a lone transaction is served {resource.servers / cpus:.3g} times as fast; "
        used_up = [host.throttled_share for host in hosts if host.throttled_share is not None]
        seen = f"; in up to {100 * max(used_up):.0f} % of the periods the quota was used up" if used_up else ""
        found.append(
            FitAssumption(
                f"the quota of {cpus:g} CPUs of {resource.name} is {count}{slower}",
                f"no: {alone}if more transactions run at the same time, they use up the quota and "
                "pause for the rest of each period of "
                f"{1e3 * PERIOD_S:.0f} ms; computed high percentiles do not include these pauses{seen}",
            )
        )
    return found


def _of_control_groups(configuration: Configuration, resource: Resource) -> list[float]:
    """Return the CPU limits of the control groups of a resource. [1]"""
    tiers = (run.tiers[name] for run in configuration.runs for name in resource.tiers if name in run.tiers)
    return [float(tier.cpus_allotted) for tier in tiers if tier.cpu_control_group and tier.cpus_allotted]
