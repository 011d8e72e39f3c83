"""Program that replaces `towtank-engine` in tests of the conductor. It behaves like the engine's processes, but
generates no load.

`guard` ends its child process when standard input closes. `load` writes frames and results for the stages of its plan.
The environment variable `FAKE_ENGINE` selects a fault: `exit:74` exits with this status, `deaf` ends only when it is
killed, `waits` ends only at the second stop signal, `crash` kills itself with signal 9 in the steady stage.
"""

import http.server
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path


def guard(arguments: list[str]) -> int:
    command = arguments[arguments.index("--") + 1 :]
    if "--cpus" in arguments[: arguments.index("--")]:
        os.sched_setaffinity(0, {int(cpu) for cpu in arguments[arguments.index("--cpus") + 1].split(",")})
    grace = float(arguments[arguments.index("--grace") + 1])
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    while child.poll() is None:
        readable, _, _ = select.select([0], [], [], 0.02)
        if readable and not os.read(0, 1024):
            child.terminate()
            try:
                child.wait(grace)
            except subprocess.TimeoutExpired:
                child.kill()
            break
    status = child.wait()
    return 128 - status if status < 0 else status


class Load:
    """Executes the stages of a load plan in real time, without sending requests."""

    def __init__(self, plan: dict) -> None:
        self.plan = plan
        self.signals = 0
        self.mode = os.environ.get("FAKE_ENGINE", "")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._count)

    def _count(self, *_: object) -> None:
        self.signals += 1

    def _stdin_closed(self) -> bool:
        readable, _, _ = select.select([0], [], [], 0.0)
        return bool(readable) and not os.read(0, 1024)

    def play(self) -> int:
        if self.mode.startswith("exit:"):
            print("cannot write", file=sys.stderr)
            return int(self.mode[5:])
        start = time.monotonic()
        length = 0.0
        for stage in self.plan["load"]["stages"]:
            self._say(k="stage", t_s=time.monotonic() - start, name=stage["name"])
            length += stage["duration_s"]
            while True:  # A stage writes at least one frame, even if it begins late.
                self._say(
                    k="live",
                    t_s=time.monotonic() - start,
                    stage=stage["name"],
                    users=3,
                    throughput_per_s=9.0,
                    errors=0,
                    p95_ms=4.0,
                )
                if self.mode == "crash" and stage["phase"] == "steady":
                    os.kill(os.getpid(), signal.SIGKILL)
                if self._stdin_closed():
                    return 0
                if self.signals >= (2 if self.mode == "waits" else 1) and self.mode != "deaf":
                    return self._end("stopped")
                time.sleep(0.02)
                if time.monotonic() - start >= length and self.mode != "deaf":
                    break
        return self._end("finished")

    def _say(self, **frame: object) -> None:
        print(json.dumps(frame), flush=True)

    def _end(self, reason: str) -> int:
        # Signals are ignored from now on. Otherwise, a signal during the exit of Python would kill the process, because
        # Python removes its signal handlers first.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        out = Path(self.plan["out"])
        out.mkdir(exist_ok=True)
        (out / "engine.json").write_text(json.dumps({"schema": "towtank/engine/1", "reason": reason}))
        return 0


def null_server(arguments: list[str]) -> int:
    host, _, port = arguments[arguments.index("--listen") + 1].partition(":")
    http.server.test(http.server.SimpleHTTPRequestHandler, port=int(port), bind=host)
    return 0


def main() -> int:
    name, arguments = sys.argv[1], sys.argv[2:]
    if name == "--version":
        print("towtank-engine 0.0.0")
        return 0
    if name == "null-server":
        return null_server(arguments)
    if name == "guard":
        return guard(arguments)
    return Load(json.loads(Path(arguments[0]).read_text())).play()


if __name__ == "__main__":
    sys.exit(main())
