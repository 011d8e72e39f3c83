"""Counts the heap allocations of the engine per request, by the counting allocator of the engine's tests."""

from __future__ import annotations

import subprocess

import harness

_TEST = ["test", "--release", "--locked", "--quiet", "-p", "towtank-load", "--test", "allocations"]


def run(*, quick: bool) -> None:  # noqa: ARG001 - the answer is exact
    """Run the engine's allocation test, which fails unless most sequences of 200 requests allocate nothing."""
    cargo = harness.program("cargo")
    if cargo is None:
        raise harness.Skipped("cargo is not installed (https://rustup.rs)")
    done = subprocess.run([cargo, *_TEST], cwd=harness.HERE.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: requests allocate:\n{done.stdout[-3000:]}{done.stderr[-2000:]}")
    print("  a request of a plain workload allocates nothing after warm-up")
