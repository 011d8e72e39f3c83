"""If the disk becomes full at any write of a recording, all earlier exchanges remain complete, and the command reports
the failure.
"""

from __future__ import annotations

import json
import os
import random
from contextlib import suppress

import httpx
import pytest
from record_bench import Bench
from record_site import Site
from small_disk import PLENTY, small_disk

pytestmark = pytest.mark.waits

DISKS = int(os.environ.get("TOWTANK_FULL_DISKS", "16" if os.environ.get("CI") else "6"))
# Total size of the workload file and of the archive of forty exchanges with the site. [KiB]
ALL_KIB = 80


@pytest.mark.parametrize("number", range(DISKS))
def test_a_recording_whose_disk_is_full_at_any_write(bench: Bench, site: Site, number: int) -> None:
    room = 4 + round(ALL_KIB / DISKS * (number + random.Random(f"recording {number}").random()))
    with small_disk(bench.folder / "disk", f"{room}k") as disk:
        process, address = bench.start_proxy("--har", "disk/kept.har", "--out", "disk/workload.yaml")
        # If the proxy cannot write the recording, it ends, so requests of its clients fail.
        with suppress(httpx.TransportError), httpx.Client(proxy=f"http://{address}", timeout=30) as browser:
            for visit in range(40):
                assert browser.get(f"{site.url}/login", params={"visit": visit}).status_code == 200
        ended = bench.stop(process)
        assert "internal fault" not in ended.stderr, f"{room} KiB: {ended.stderr}"
        assert "Traceback" not in ended.stderr, f"{room} KiB: {ended.stderr}"
        entries = json.loads((disk.path / "kept.har").read_text())["log"]["entries"]
        visits = [entry["request"]["url"].rpartition("=")[2] for entry in entries]
        assert visits == [str(visit) for visit in range(len(visits))], room
        if len(visits) < 40 or not (disk.path / "workload.yaml").exists():
            assert "No space left on device" in ended.stderr, f"{room} KiB: {ended.stderr}"
            assert ended.returncode != 0
        disk.resize(PLENTY)
        if visits:
            again = bench.towtank("import", "har", "disk/kept.har", "--out", "disk/again.yaml")
            assert again.returncode == 0, again.stderr
