"""What this machine offers to hosts, for `towtank doctor`."""

from __future__ import annotations

from towtank.observe.offers import Offer
from towtank.system.hosts.capabilities import probe


def examine_hosts() -> list[Offer]:
    """Every capability as a point; all of them are optional."""
    offers = []
    for point in probe().values():
        name = "hosts_" + point.name.replace(" ", "_")
        if point.there:
            offers.append(Offer(name, "ok", "yes", point.remark))
        else:
            offers.append(Offer(name, "note", None, f"{point.lacking}; for {point.remark}", point.install))
    return offers
