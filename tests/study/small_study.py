"""A small valid study with a workload and a system; tests replace parts of the text of these files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STUDY = """\
schema: towtank/study/1
name: small
title: A small study
question: How many users?
system: system.yaml
workload: workload.yaml
seed: 7
repetitions: 2
order: random
factors:
  users: [10, 20]
  search_index:
    present: {}
    absent: {services.content.settings.drop_index: search_type}
overrides: {parameters.think_mean: 2 s}
load:
  kind: closed
  stages:
    ramp_up: {each: 20 ms}
    settle: 1 s
    steady: 10 s
    ramp_down: 2 s
pinning: auto
limits: {errors: 2 %, start_lag_p99: 5 ms}
objectives:
  - p95 of view < 1 s
presets:
  quick: {load: {stages: {steady: 5 s}}}
  full:
    repetitions: 3
    factors: {users: [100]}
"""

CLAIMS = """\
claims:
  - says: Without the index, views take longer.
    source: table 4
    measure: {ratio: {of: mean of view, at: {search_index: absent, users: all}, to: {search_index: present}}}
    holds: "> 1.5"
  - says: Users lengthen it.
    measure: {trend: {of: p95, over: users, at: {search_index: present}}}
    holds: rises
  - says: A JVM would help.
    not_testable: no node runs on one
"""
STUDY_WITH_CLAIMS = STUDY.replace("presets:\n", f"{CLAIMS}presets:\n")

SYSTEM = """\
schema: towtank/system/1
name: one-server
hosts:
  here: {provider: local}
services:
  content:
    kind: content_server
    host: here
    settings:
      threads: 8
      content_cache: 32 MiB
    population: {scale: 0.001, seed: 1}
targets:
  content: {service: content, balance: random}
start_timeout: 2 min
"""

WORKLOAD = """\
schema: towtank/workload/1
name: small
parameters:
  think_mean: 1 s
data:
  documents:
    columns: [id, popularity]
    rows: [[a, 3], [b, 1]]
    weight: popularity
  words:
    rows: [{word: one}, {word: two}]
defaults:
  target: content
  headers: {Accept: application/json}
  timeout: 10 s
transactions:
  log_in:
    - get: /browser
      check: {status: 200}
  view:
    - draw: documents
    - get: /content
      name: open
      query: {id: "${documents.id}", full: true}
      check: {status: [200, 206], contains: title}
      extract: {etag: {header: ETag}}
    - think: 500 ms
    - put: /content/${documents.id}
      headers: {If-Match: "${etag}"}
      form: {word: two words}
      on_failure: go_on
  add:
    - page: new document
      steps:
        - post: /content
          json: {name: "${uuid}", size: 5}
          extract: {own: {json: "$.id", pick: append}}
    - branch: 25 %
      then:
        - pop: own
          into: mine
        - if: {filled: mine}
          then:
            - delete: /content/${mine}
groups:
  readers:
    share: 70 %
    once: [log_in]
    loop:
      think: {exponential: "${parameters.think_mean}"}
      mix: {view: 100}
  editors:
    share: 30 %
    once: [log_in]
    loop:
      pacing: 5 /min per user
      mix:
        view: 60
        add: 40
"""


@dataclass
class Files:
    """The three files of a study (study, workload, system) in one folder."""

    folder: Path

    @property
    def study(self) -> Path:
        return self.folder / "study.yaml"

    @property
    def workload(self) -> Path:
        return self.folder / "workload.yaml"

    @property
    def system(self) -> Path:
        return self.folder / "system.yaml"

    def edit(self, kind: str, old: str, new: str) -> None:
        """Replace a text that occurs exactly once in one of the files."""
        path = self.folder / f"{kind}.yaml"
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {kind}.yaml"
        path.write_text(text.replace(old, new), "utf-8")


def write_files(folder: Path) -> Files:
    """Write the three files of the small study into a folder."""
    for name, text in (("study", STUDY), ("system", SYSTEM), ("workload", WORKLOAD)):
        (folder / f"{name}.yaml").write_text(text, "utf-8")
    return Files(folder)
