"""Changes recorded runs so that their probe (the recorder of resource use) appears to have run on another machine."""

from __future__ import annotations

from typing import Any

from synthetic_runs import SECOND

from towtank.results import lines
from towtank.results.folder import RunFolder


def move_away(run: RunFolder, offset_ns: int) -> None:
    """Change a run so that its probe appears to have run on another machine, whose clock is `offset_ns` ahead of this
    machine's clock.
    """
    path = run.observe / "probe.ndjson"
    documents = list(lines.read(path, lines.Damage()))
    with (run.observe / "far.probe.ndjson").open("wb") as far, path.open("wb") as here:
        for document in documents:
            far.write(
                lines.encode({**document, "t_ns": document["t_ns"] + offset_ns} if "t_ns" in document else document)
            )
            here.write(lines.encode({**document, "groups": {}}))


def to_another_machine(run: RunFolder, tier: str, sound: bytes, host: str = "far") -> None:
    """Change a run so that a tier appears to be on a host of provider `ssh`.

    The recorded probe becomes the probe of that host. `sound` becomes the recording of the local probe.
    """
    path = run.observe / "probe.ndjson"
    move_away(run, 3_000 * SECOND)
    path.write_bytes(sound)
    here = [
        {**sample, "groups": _without(sample["groups"], tier)} if "groups" in sample else sample
        for sample in lines.read(path)
    ]
    path.write_bytes(b"".join(map(lines.encode, here)))
    tiers = {name: dict(facts) for name, facts in run.manifest["tiers"].items()}
    tiers[tier] |= {"host": host, "cpus": []}
    clocks = {host: [{"offset_ns": 3_000 * SECOND, "uncertainty_ns": 1_000}]}
    run.update(tiers=tiers, hosts={host: {"provider": "ssh"}}, clocks=clocks)


def _without(groups: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: group for key, group in groups.items() if key != name}
