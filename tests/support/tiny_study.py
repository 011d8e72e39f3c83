"""A study of two runs of one second each, against a server that answers every request."""

from __future__ import annotations

from pathlib import Path

STUDY = """
schema: towtank/study/1
name: tiny
question: Does it hold?
system: system.yaml
workload: workload.yaml
order: given
factors:
  users: [2, 4]
objectives: [p95 < 10 s]
load:
  kind: closed
  stages: {ramp_up: 200 ms, settle: 200 ms, steady: 1 s}
"""
SYSTEM = """
schema: towtank/system/1
name: tiny
hosts: {here: {provider: local}}
services:
  content: {kind: null_server, host: here}
start_timeout: 20 s
"""
WORKLOAD = """
schema: towtank/workload/1
name: look
transactions:
  look: [{get: /}]
groups:
  readers: {loop: {think: {fixed: 20 ms}, mix: {look: 100}}}
"""


def write_tiny_study(folder: Path) -> Path:
    """Write the study file, the system file and the workload file; return the path of the study file."""
    for name, text in (("study", STUDY), ("system", SYSTEM), ("workload", WORKLOAD)):
        (folder / f"{name}.yaml").write_text(text, "utf-8")
    return folder / "study.yaml"
