"""Pytest plugin: a violated objective is a test failure, an invalid measurement is a test error.

A failed test or an interrupt leaves no process and no thread behind.
"""

from __future__ import annotations

import tomllib
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pages import ROOT

pytestmark = pytest.mark.waits

pytest_plugins = ["pytester"]

# Text of a `conftest.py` that replaces `towtank.drive` by a function that returns a fixed measurement of two requests.
CONFTEST = """
import pytest
import towtank.api.plugin
from towtank.api.driving import Drive
from towtank.errors import TargetError

def document(valid):
    times = {name: 434.0 for name in ("mean", "p50", "p90", "p95", "p99", "p99.9", "min", "max")}
    p95 = {"p95": {"value": 0.434, "low": 0.425, "high": 0.442, "confidence": 0.95}}
    doubt = {"kind": "generator_saturated", "level": "invalid", "message": "it had no CPU left", "hint": "add threads"}
    return {
        "target": "http://127.0.0.1/checkout", "valid": valid, "doubts": [] if valid else [doubt], "users": 2,
        "rate": None, "requests": 2, "errors": 0, "throughput_per_s": 2.0, "response_time_ms": times,
        "exchange_time_ms": times, "transactions": {},
        "estimates": {"throughput_per_s": {}, "response_time_s": p95, "exchange_time_s": {}},
    }

@pytest.fixture(autouse=True)
def measured(monkeypatch):
    import towtank

    def drive(target, **options):
        if "nobody" in target:
            raise TargetError("nothing takes connections there")
        return Drive(document("saturated" not in target))

    monkeypatch.setattr(towtank, "drive", drive, raising=False)
"""


@pytest.fixture
def ended(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> object:
    """A function that runs tests with the plugin in a separate process.

    If the plugin's entry point is not installed, an option loads the plugin.
    """
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeconftest(CONFTEST)

    def run(code: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(code)
        named = () if entry_points(group="pytest11", name="towtank") else ("-p", "towtank.api.plugin")
        return pytester.runpytest_subprocess(*named, "-p", "no:cacheprovider", *options)

    return run


def test_a_missed_objective_fails_with_value_interval_and_verdict(ended) -> None:  # type: ignore[no-untyped-def]
    done = ended("""
        def test_checkout(towtank):
            assert towtank.drive("http://127.0.0.1/checkout").p95 < "400 ms"
        """)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "E * assert 434 [[]425, 442] ms < '400 ms'",
            "E * objective: below 400 ms",
            "E * measured: 434 [[]425, 442] ms",
            "E * of: p95 of the response time of http://127.0.0.1/checkout, a measurement that is valid",
            "E * its 95 % interval does not hold the limit: the miss is certain",
        ]
    )


def test_a_limit_within_the_interval_is_said(ended) -> None:  # type: ignore[no-untyped-def]
    done = ended("""
        def test_checkout(towtank):
            assert towtank.drive("http://127.0.0.1/checkout").p95 < 0.43

        def test_throughput(towtank):
            assert towtank.drive("http://127.0.0.1/checkout").throughput_per_s >= 3

        def test_unit(towtank):
            assert towtank.drive("http://127.0.0.1/checkout").p95 < "430 mss"
        """)
    done.assert_outcomes(failed=3)
    done.stdout.no_fnmatch_line("*quantity.py*")
    done.stdout.fnmatch_lines(
        [
            "E * objective: below 0.43 s",
            "E * its 95 % interval holds the limit: the miss is not certain",
            "E * objective: at least 3 /s",
            "E * the value has no interval, so its uncertainty is not known",
        ]
    )


def test_a_measurement_that_is_not_valid_is_an_error(ended, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    done = ended(
        """
        def test_saturated(towtank):
            assert towtank.drive("http://127.0.0.1/saturated").p95 < "400 ms"

        def test_nobody(towtank):
            assert towtank.drive("http://127.0.0.1/nobody").p95 < "400 ms"

        def test_met(towtank):
            assert towtank.drive("http://127.0.0.1/checkout").p95 < "500 ms"

        def test_of_somebody_else():
            from towtank.errors import ModelError

            raise ModelError("a plain failure")
        """,
        "--junit-xml=report.xml",
    )
    done.assert_outcomes(passed=1, errors=2, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*ERROR at measurement of test_saturated*",
            "invalid: it had no CPU left",
            "  hint: add threads",
            "measured: the load on http://127.0.0.1/checkout",
            "in: test_a_measurement_that_is_not_valid_is_an_error.py:2",
            "*ERROR at measurement of test_nobody*",
            "nothing takes connections there",
            "in: test_a_measurement_that_is_not_valid_is_an_error.py:5",
        ]
    )
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    suite = ElementTree.parse(Path(pytester.path) / "report.xml").getroot()[0]
    assert (suite.attrib["errors"], suite.attrib["failures"]) == ("2", "1")


def test_the_fixture_has_every_function(ended) -> None:  # type: ignore[no-untyped-def]
    done = ended("""
        import towtank as package

        def test_names(towtank):
            assert all(getattr(towtank, name) for name in package.__all__)
        """)
    done.assert_outcomes(passed=1)


def test_installing_towtank_gives_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"towtank": "towtank.api.plugin"}


MISSED = """
import os, pathlib, threading
import towtank

def test_missed():
    assert towtank.drive("http://{address}/", think="10 ms", duration="1 s").p95 < "1 ns"

def test_nothing_goes_on():
    assert pathlib.Path(f"/proc/self/task/{{os.getpid()}}/children").read_text() == ""
    assert not [thread for thread in threading.enumerate() if "towtank" in thread.name]
"""
# A test that sends SIGINT to its own process during a load, as Ctrl-C does.
INTERRUPTED = """
import os, signal

def interrupt(step):
    if step.kind == "second":
        os.kill(os.getpid(), signal.SIGINT)

def test_interrupted(towtank):
    towtank.drive("http://{address}/", duration="60 s", progress=interrupt)
"""


def with_plugin(pytester: pytest.Pytester, code: str) -> pytest.RunResult:
    """Run tests with the plugin. Loads are real."""
    pytester.makepyfile(code)
    named = () if entry_points(group="pytest11", name="towtank") else ("-p", "towtank.api.plugin")
    return pytester.runpytest_subprocess(*named, "-p", "no:cacheprovider")


def of_session(mark: str) -> list[str]:
    """Return the command lines of the processes whose environment contains the given text."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def test_a_failed_test_leaves_nothing(pytester: pytest.Pytester, address: str) -> None:
    done = with_plugin(pytester, MISSED.format(address=address))
    done.assert_outcomes(failed=1, passed=1)
    done.stdout.fnmatch_lines(["E * objective: below 1 ns", "E * measured: *"])


def test_an_interrupt_ends_the_session_and_the_load(
    pytester: pytest.Pytester, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = f"TOWTANK_MARK={pytester.path}"
    monkeypatch.setenv("TOWTANK_MARK", str(pytester.path))
    done = with_plugin(pytester, INTERRUPTED.format(address=address))
    assert done.ret == pytest.ExitCode.INTERRUPTED
    assert of_session(mark) == []
