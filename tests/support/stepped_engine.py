"""Replacement of the load engine that advances one second per step, and writes the files of recorded results.

It executes commands of the conductor. Throughput and response time of the simulated system are functions of the load.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from synthetic_runs import encode_histogram

from towtank.plan import PlannedLoad
from towtank.results import lines

SECOND = 1_000_000_000
Answer = Callable[[float, str, int], tuple[float, float]]
"""Maps load, name of the stage, and seconds since the start of the stage to throughput [1/s] and response time [s]."""


class SteppedEngine:
    """Simulated engine with one load thread, on a clock of whole seconds.

    Parameters
    ----------
    folder : Path
        Folder `engine` of the run.
    load : PlannedLoad
        Load of the plan.
    answer : callable
        Returns throughput and response time.
    waiting : callable, optional
        Returns the number of waiting arrivals; has the same parameters as `answer`.
    """

    def __init__(self, folder: Path, load: PlannedLoad, answer: Answer, waiting: Answer | None = None) -> None:
        self.folder, self.answer, self.waiting = folder, answer, waiting
        self.key = "users" if load.kind == "closed" else "rate"
        self.stages = [stage.document() for stage in load.stages]
        self.commands: list[dict[str, Any]] = []
        self.refuse_append = False
        self.index, self.now, self.began, self.edits = -1, 0, 0, 0
        self._load = 0.0
        self._busy = 0.05
        folder.mkdir(parents=True, exist_ok=True)

    def send(self, command: dict[str, Any]) -> None:
        """Receive a command of the conductor, which is executed in the next second."""
        self.commands.append(command)

    def run(self, steering: Any, seconds: int = 5000) -> None:
        self._enter(0, steering)
        while self.index < len(self.stages):
            assert self.now < seconds, "the load did not end in time"
            self._second()
            for command in self._look(steering):
                self._obey(command, steering)
            while self.index < len(self.stages) and self.now - self.began >= self._length():
                self._enter(self.index + 1, steering)

    def busy(self, share: float) -> None:
        self._busy = share

    def _look(self, steering: Any) -> list[dict[str, Any]]:
        steering.look()
        commands, self.commands = self.commands, []
        return commands

    def _length(self) -> int:
        return round(self.stages[self.index]["duration_s"])

    def _enter(self, index: int, steering: Any) -> None:
        if 0 <= self.index < len(self.stages):
            self.stages[self.index]["end_s"] = float(self.now)
        self.index, self.began = index, self.now
        frame = {"k": "stage", "index": index, "t_s": float(self.now), "name": "drain", "end_s": float(self.now)}
        if index < len(self.stages):
            stage = self.stages[index]
            stage["start_s"], self._load = float(self.now), float(stage[self.key])
            frame |= {"name": stage["name"], "end_s": self.now + stage["duration_s"]}
        self._header()
        steering.frame(frame)

    def _obey(self, command: dict[str, Any], steering: Any) -> None:
        if command["do"] == "append" and self.refuse_append:
            steering.frame({"k": "refused", "do": "append", "why": "not today"})
        elif command["do"] == "append":
            self.stages += [dict(stage) for stage in command["stages"]]
            steering.frame({"k": "appended", "first": len(self.stages) - len(command["stages"]), "count": 1})
            for following in self._look(steering):
                self._obey(following, steering)
        elif command["stage"] == self.index and self.stages[self.index].get("until") == "command":
            self._enter(self.index + 1, steering)
        else:
            steering.frame({"k": "refused", "do": "next", "why": "another stage"})

    def _header(self) -> None:
        start, table = 0.0, []
        for stage in self.stages:
            first = stage.get("start_s", start)
            last = stage.get("end_s", first + stage["duration_s"])
            table.append({**stage, "start_s": first, "end_s": last})
            start = last
        header = {
            "k": "header",
            "schema": "towtank/segment/1",
            "workers": 1,
            "monotonic_ns": 0,
            "stages": table,
            "edits": self.edits,
            "transactions": ["look"],
            "pages": [],
            "steps": [{"name": "get", "transaction": "look"}],
            "groups": ["all"],
        }
        self.edits += 1
        self._write(header)

    def _second(self) -> None:
        name = self.stages[self.index]["name"]
        rate, response = self.answer(self._load, name, self.now - self.began)
        count = round(rate)
        waiting = 0 if self.waiting is None else round(self.waiting(self._load, name, self.now - self.began)[0])
        histogram = encode_histogram([response * 1e9] * count)
        reported = {"id": 0, "offered": count, "started": count, "ok": count}
        times = {"response": histogram, "response_sum_ns": round(count * response * 1e9)}
        times |= {"exchange": histogram, "exchange_sum_ns": round(count * response * 1e9)}
        self._write(
            {
                "k": "interval",
                "t0_ns": self.now * SECOND,
                "t1_ns": (self.now + 1) * SECOND,
                "stage": self.index,
                "users": round(self._load),
                "user_ns": round(self._load * SECOND),
                "in_flight": round(rate * response),
                "waiting": waiting,
                "cpu_ns": round(self._busy * SECOND),
                "series": [{"of": of, **reported, **times} for of in ("step", "transaction")],
            }
        )
        self.now += 1

    def _write(self, document: dict[str, Any]) -> None:
        with (self.folder / "worker-00.0000.ndjson").open("ab") as stream:
            stream.write(lines.encode(document))
