"""Runs the engine's subcommand `caches`, which computes the miss ratios of caches."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any

from towtank.engine import binary
from towtank.errors import EngineError


def run_caches(options: list[str], lines: Iterable[bytes] | None = None, source: IO[bytes] | None = None) -> Any:
    """Run `towtank-engine caches` and return a mapping with the `answer`, or with `faults` and `more` of the trace.

    If the trace is a file, its path is among the options. Otherwise it is an open stream, or lines that are generated
    while the engine reads them, so that only one line is in memory at a time.

    Raises
    ------
    EngineError
        If the engine ends and has printed neither an answer nor faults.
    """
    stdin: Any = subprocess.PIPE if lines is not None else source or subprocess.DEVNULL
    with subprocess.Popen(
        [str(binary()), "caches", *options], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            if lines is not None and process.stdin is not None:
                # A broken pipe means that the engine ended early. The engine's output, read below, states the cause.
                with suppress(BrokenPipeError):
                    process.stdin.writelines(lines)
                    process.stdin.flush()
            output, errors = process.communicate()
        except BaseException:
            process.kill()
            raise
    if process.returncode not in (0, 2) or not output:
        said = errors.decode("utf-8", "replace").strip()
        raise EngineError(f"towtank-engine caches ended with status {process.returncode}: {said}")
    return json.loads(output)
