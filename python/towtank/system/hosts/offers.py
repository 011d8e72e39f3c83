"""Lists, for `towtank doctor`, the capabilities of this machine that hosts need."""

from __future__ import annotations

from importlib.util import find_spec

from towtank.installing import SSH_LIBRARY, pip_install
from towtank.observe import Offer
from towtank.system.hosts.capabilities import probe

_SSH = "hosts of provider ssh"


def examine_hosts() -> list[Offer]:
    """Return an entry of the report for each capability. No entry has the status `missing`, because hosts are
    optional.
    """
    offers = []
    for point in probe().values():
        name = "hosts_" + point.name.replace(" ", "_")
        if point.there:
            offers.append(Offer(name, "ok", "yes", point.remark))
        else:
            offers.append(Offer(name, "note", None, f"{point.lacking}; for {point.remark}", point.install))
    spec = find_spec(SSH_LIBRARY)
    if spec is None:
        offers.append(Offer("hosts_ssh", "note", None, f"not installed; for {_SSH}", pip_install(SSH_LIBRARY)))
    else:
        offers.append(Offer("hosts_ssh", "ok", str(spec.origin), _SSH))
    return offers
