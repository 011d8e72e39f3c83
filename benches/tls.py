"""Measures the generator's CPU time per full TLS 1.3 handshake, and per request over open connections.

The results are compared with those of wrk and `openssl s_time`. The server is one nginx worker with a P-256
certificate, without session cache and tickets, so that every handshake is full. To measure handshakes, each request
opens its own connection; `openssl s_time` opens connections without requests. wrk and s_time do not verify
certificates; Towtank is measured without and with verification.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import harness
import towtank_load

HANDSHAKE_CONNECTIONS, CONNECTIONS = 16, 64
_SETTINGS = """
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; ssl_protocols TLSv1.3;
    ssl_session_cache off; ssl_session_tickets off;
"""
_OURS = {"towtank": False, "towtank, verifying": True}


def run(*, quick: bool) -> None:
    """Measure the CPU time per handshake and per request, print the ratios, and store the single results."""
    rounds, seconds = (4, 3) if quick else (6, 5)
    with _server() as (address, authority):
        for what, names in (("handshake", [*_OURS, "wrk", "s_time"]), ("request", [*_OURS, "wrk"])):
            here = [name for name in names if name in _OURS or _program(name)]
            runs = harness.turns(here, rounds, lambda name, what=what: _once(what, name, address, authority, seconds))
            ratios = {}
            for name in here[len(_OURS) :]:
                for ours in _OURS:
                    found = harness.ratio(runs, "cpu_us", ours, name)
                    ratios[f"{ours} / {name}"] = found
                    print(
                        f"  CPU per {what}, {ours} / {name}: {harness.shown(found)} (median of {rounds} rounds, 95 %)"
                    )
            harness.keep(f"tls-{what}s", {"rounds": rounds, "seconds": seconds}, runs=runs, ratios=ratios)


@contextmanager
def _server() -> Iterator[tuple[str, Path]]:
    """Run nginx with a self-signed certificate; yield the address and the path of the certificate."""
    if not _program("openssl"):
        raise harness.Skipped("openssl is not installed (apt-get install openssl)")
    with tempfile.TemporaryDirectory(prefix="towtank-tls-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        command += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
        # Strict clients refuse a server certificate that may sign other certificates.
        command += ["-addext", "basicConstraints=critical,CA:FALSE"]
        command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
        subprocess.run(command, check=True, capture_output=True)
        with harness.nginx_server(listen=" ssl", settings=_SETTINGS.format(folder=folder)) as (address, _):
            yield address, folder / "cert.pem"


def _program(name: str) -> str | None:
    return shutil.which("openssl") if name in ("openssl", "s_time") else harness.program(name)


def _once(what: str, name: str, address: str, authority: Path, seconds: int) -> dict[str, Any]:
    if name in _OURS:
        count, spent = _towtank(what, address, authority if _OURS[name] else None, seconds)
    elif name == "wrk":
        count, spent = _wrk(what, address, seconds)
    else:
        count, spent = _s_time(address, seconds)
    return {"cpu_us": spent.cpu_s / count * 1e6, "per_s": count / seconds, "count": count, "cpu_s": spent.cpu_s}


def _towtank(what: str, address: str, authority: Path | None, seconds: int) -> tuple[int, harness.Spent]:
    tls = {"verify": authority is not None, "resumption": False, "versions": ["1.3"]}
    if authority is not None:
        tls["ca"] = str(authority)
    users = HANDSHAKE_CONNECTIONS if what == "handshake" else CONNECTIONS
    with tempfile.TemporaryDirectory(prefix="towtank-bench-") as name:
        plan = towtank_load.plan(address, towtank_load.closed(users, seconds), Path(name) / "engine")
        plan["targets"][0] |= {"scheme": "https", "tls": tls}
        if what == "handshake":
            plan["connections"] = {"mode": "new_each_time"}
        done = towtank_load.drive_plan(plan, Path(name))
    made = done.engine["handshakes"]["full"] if what == "handshake" else done.engine["totals"]["ok"]
    return int(made), done.spent


def _wrk(what: str, address: str, seconds: int) -> tuple[int, harness.Spent]:
    each = (
        ["-c", str(HANDSHAKE_CONNECTIONS), "-H", "Connection: close"]
        if what == "handshake"
        else ["-c", str(CONNECTIONS)]
    )
    command = [str(harness.program("wrk")), "-t", "1", "-d", f"{seconds}s", *each, f"https://{address}/"]
    spent = harness.spend(command)
    found = re.search(r"(\d+) requests in", spent.output)
    if found is None:
        raise SystemExit(f"error: no count of requests in this output:\n{spent.output[-2000:]}")
    return int(found[1]), spent


def _s_time(address: str, seconds: int) -> tuple[int, harness.Spent]:
    command = [str(_program("s_time")), "s_time", "-connect", address, "-new", "-tls1_3", "-time", str(seconds)]
    spent = harness.spend(command)
    found = re.search(r"(\d+) connections in [\d.]+ real seconds", spent.output) or re.search(
        r"(\d+) connections in", spent.output
    )
    if found is None:
        raise SystemExit(f"error: no count of connections in this output:\n{spent.output[-2000:]}")
    return int(found[1]), spent
