"""Install the programs with which `make bench` compares Towtank.

wrk, h2load, nginx, OpenSSL and strace are installed from Debian's packages, if the account has the permission. The
other programs are installed into `.venv/benches`, from the registries of Go, Python and Rust. An installation that
fails, or takes more than ten minutes, is skipped with a message.
"""

from __future__ import annotations

import os
import subprocess
import sys

import harness

WITHIN_S = 600.0
_DEBIAN = {"wrk": "wrk", "h2load": "nghttp2-client", "nginx": "nginx-light", "openssl": "openssl", "strace": "strace"}
_GO = {
    "hey": "github.com/rakyll/hey@latest",
    "vegeta": "github.com/tsenart/vegeta/v12@latest",
    "k6": "go.k6.io/k6@latest",
}


def commands(name: str) -> list[list[str]]:
    """Return the commands that install a load generator."""
    root = str(harness.PEERS)
    if name in _DEBIAN:
        return [["apt-get", "install", "-y", "-qq", "--no-install-recommends", _DEBIAN[name]]]
    if name == "oha":
        return [["cargo", "install", "--quiet", "--locked", "--no-default-features", "--features", "rustls",
                 "--root", root, "oha"]]  # fmt: skip
    if name == "locust":
        python = f"{root}/python"
        return [
            [sys.executable, "-m", "venv", python],
            [f"{python}/bin/pip", "install", "--quiet", "--disable-pip-version-check", "locust"],
            ["ln", "-sf", "../python/bin/locust", f"{root}/bin/locust"],
        ]
    return [["go", "install", _GO[name]]]


def install(name: str) -> str:
    """Install a program; return the result as a text to print."""
    environment = {**os.environ, "GOBIN": str(harness.PEERS / "bin")}
    environment["PATH"] = f"{environment.get('PATH', '')}:/usr/local/go/bin"
    environment["DEBIAN_FRONTEND"] = "noninteractive"
    for command in commands(name):
        if harness.shutil.which(command[0], path=environment["PATH"]) is None:
            return f"skipped: the installation needs {command[0]}, which is not installed"
        try:
            done = subprocess.run(
                command, env=environment, timeout=WITHIN_S, capture_output=True, text=True, check=False
            )
        except subprocess.TimeoutExpired:
            return f"skipped: its installation took more than {WITHIN_S:g} s"
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            return f"skipped: `{' '.join(command)}` ended with status {done.returncode}: {reason}"
    return "installed"


def main() -> int:
    (harness.PEERS / "bin").mkdir(parents=True, exist_ok=True)
    for name in (*_DEBIAN, "hey", "k6", "vegeta", "locust", "oha"):
        print(f"{name}: {'is installed' if harness.program(name) else install(name)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
