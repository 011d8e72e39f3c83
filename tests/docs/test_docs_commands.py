"""The commands of each page succeed in a fresh copy, in the order of the page, and their output has the shown shape.

Commands that take minutes are only planned: the study is loaded with the preset and the values of the command, and the
runs of the study are designed. `make nightly` executes these commands unchanged (`TOWTANK_PAGES=nightly`).
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from accounts import ACCOUNTS
from command_words import faults_of
from judgements import Line, Output, Run, Same, Snippet
from pages import ROOT, Block, page
from sessions import ADDRESS, DISTURBANCES, NULL_SERVER, SHOP, Ended, Session, commands
from shapes import missing

from towtank.analysis.doubts import DoubtLevel
from towtank.conduct.request import StudyRequest
from towtank.errors import ExitStatus, TargetError
from towtank.study import needed_packages
from towtank.system.offers import offer_of

pytestmark = pytest.mark.waits

NIGHTLY = os.environ.get("TOWTANK_PAGES") == "nightly"
PAGES = [name for name, judgements in ACCOUNTS.items() if any(isinstance(found, Run | Output) for found in judgements)]
# Pages that diagnose a load. Other programs that run at the same time would make the diagnosis less certain than the
# page shows.
ALONE = ("docs/guides/my-application-already-runs.md",)
PLAIN = Line("")
MEASURING = ("towtank drive", "towtank run", "towtank rate")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(tmp_path)
    yield made
    made.close()


def line_of(judgement: Run, command: str) -> Line:
    """Return the settings for a command. If several settings match, those with the longest `begins` apply."""
    found = [line for line in judgement.lines if command.startswith(line.begins)]
    return max(found, key=lambda line: len(line.begins), default=PLAIN)


@pytest.mark.timeout(2 * 3600 if NIGHTLY else 600)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.alone if name in ALONE else ()) for name in PAGES]
)
def test_commands_work(name: str, session: Session) -> None:
    if server := server_of(name):
        session.serve(server)
    for block, judgement in zip(page(name).blocks, ACCOUNTS[name], strict=True):
        if isinstance(judgement, Snippet | Same) and judgement.saved:
            keep(block, judgement, session)
        elif isinstance(judgement, Run):
            for command, shown in commands(block.text):
                do(block, command, line_of(judgement, command), session)
                if shown:
                    compare(block, judgement, shown, session)
        elif isinstance(judgement, Output):
            compare_part(block, judgement, session)


@pytest.mark.parametrize("name", PAGES)
def test_every_measurement_of_a_page_may_be_disturbed(name: str) -> None:
    commands_of_page = [
        (command, line_of(judgement, command))
        for block, judgement in zip(page(name).blocks, ACCOUNTS[name], strict=True)
        if isinstance(judgement, Run)
        for command, _ in commands(block.text)
    ]
    assert [
        command
        for command, line in commands_of_page
        if command.startswith(MEASURING) and not (line.measures or line.planned or line.serves or line.shown)
    ] == []


def server_of(name: str) -> str:
    """Return the command that starts the server to which the page sends load; empty if the page itself starts
    a server.
    """
    text = "".join(
        block.text
        for block, judgement in zip(page(name).blocks, ACCOUNTS[name], strict=True)
        if isinstance(judgement, Run)
    )
    if "--http2" in text:
        return NULL_SERVER
    starts = "server.py" in text or "app.py" in text or "--listen" in text
    return SHOP if not starts and (ADDRESS in text or "examples/shop/study.yaml" in text) else ""


def keep(block: Block, judgement: Snippet | Same, session: Session) -> None:
    """Write a file shown on the page to the path from which the commands of the page read it. Also copy the files to
    which it refers.
    """
    (session.here / judgement.saved).write_text(session.addressed(block.text), "utf-8")
    if isinstance(judgement, Snippet) and judgement.onto:
        for path in (ROOT / judgement.onto).parent.iterdir():
            if not (session.here / path.name).exists():
                shutil.copy(path, session.here)


def do(block: Block, command: str, line: Line, session: Session) -> None:
    """Run a command of a page, or only plan the runs of its study."""
    if line.shown or (line.needs and shutil.which(line.needs) is None):
        return
    if line.planned and not (NIGHTLY and line.nightly):
        plan(command, session)
    elif line.serves:
        session.serve(command, line)
    elif command.startswith("towtank doctor ") and (lacks := lacking(subject(command, session))):
        done = session.run(command.replace("--install", ""), line)
        assert done.status == ExitStatus.TARGET
        assert all(name in done.output for name in lacks), f"{block}\n{command}\n{done.output}"
    else:
        done = session.run(line.instead or command, as_it_stands(line))
        if not works(done, line, session):
            reasons = session.other_reasons(done)
            pytest.fail(
                f"{block}\n{command}\n{done.output}\nstatus {done.status}, reasons other than disturbances: {reasons}"
            )
        if line.instead:
            assert line.instead == made_by(command)


def compare(block: Block, judgement: Run, shown: str, session: Session) -> None:
    """Compare the output of the last command with the output on the page."""
    done = session.ended[-1]
    if judgement.exact:
        assert done.output == shown, block
        return
    disturbed = is_disturbed(done, session)
    free = line_of(judgement, done.command).free
    faults = missing(shown, done.output, part=False, free=free, disturbed=disturbed)
    assert faults == [], f"{block}\n{done.command}\n{done.output}"


def as_it_stands(line: Line) -> Line:
    """Return the settings of a command. For the nightly run, leave out the values and options that shorten a study."""
    return replace(line, sets=(), more="") if NIGHTLY and line.sets else line


def compare_part(block: Block, judgement: Output, session: Session) -> None:
    """Compare output shown in a separate block. If its command is in no block of the page, run the command first."""
    done = session.ended_with(judgement.of) or session.run(judgement.of, as_it_stands(judgement.line))
    assert works(done, judgement.line, session), f"{block}\n{done.output}"
    disturbed = is_disturbed(done, session)
    faults = missing(block.text, done.output, part=True, free=judgement.line.free, disturbed=disturbed)
    assert faults == [], f"{block}\n{done.output}"


def is_disturbed(done: Ended, session: Session) -> bool:
    """Return True if values may be missing: runs are invalid, or suspect because of other programs on the machine."""
    if done.status == ExitStatus.INVALID_MEASUREMENT:
        return True
    return done.command.startswith("towtank run") and not DISTURBANCES.isdisjoint(session.doubts(DoubtLevel.SUSPECT))


def lacking(name: str) -> list[str]:
    """Return the programs that a system or study needs and this machine lacks; the tests install nothing."""
    needs = needed_packages(name)
    return [offer_of(need).name.replace("_", " ") for need in needs if need.found() is None]


def works(done: Ended, line: Line, session: Session) -> bool:
    """Return True if a command ended as expected, or if other programs on the machine made its measurement invalid."""
    return done.status in line.statuses or (
        line.measures and done.status == ExitStatus.INVALID_MEASUREMENT and session.was_disturbed(done)
    )


def plan(command: str, session: Session) -> None:
    """Check the options of a command. For `towtank run`, also load the study and design its runs."""
    words = shlex.split(command, comments=True)
    assert faults_of(words) == [], command
    if words[:2] != ["towtank", "run"]:
        return
    options: dict[str, list[str]] = {}
    names: list[str] = []
    rest = iter(words[2:])
    for word in rest:
        if word == "--quick":
            options.setdefault("--preset", []).append("quick")
        elif word.startswith("--"):
            options.setdefault(word, []).append(next(rest))
        else:
            names.append(word)
    assert set(options) <= {"--preset", "--set"}, command
    name = located(names[0], session)
    preset = options.get("--preset", [None])[0]
    try:
        assert StudyRequest(name, preset, None, None, tuple(options.get("--set", ())), ()).load().design(), command
    except TargetError:
        # The files of the study are valid at this point, so only a missing requirement can cause this exception.
        assert lacking(name), command


def subject(command: str, session: Session) -> str:
    """Return the system or study that a `towtank doctor` command checks."""
    return located(shlex.split(command, comments=True)[2], session)


def located(name: str, session: Session) -> str:
    """Return the path of a study in the folder of the session; if the study is part of the Towtank package, return its
    name.
    """
    path = session.here / name
    return str(path) if path.exists() else name


def made_by(command: str) -> str:
    """Return the last command that `make -n` prints for a target."""
    # If this test runs below another `make`, the flags of that `make` must not be inherited: the inner `make` would
    # also print folders.
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", *shlex.split(command)[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1].rpartition("/bin/")[2]


def test_every_exception_is_for_a_command_of_its_block() -> None:
    unused = [
        f"{block}: {line.begins}"
        for name, judgements in ACCOUNTS.items()
        for block, judgement in zip(page(name).blocks, judgements, strict=True)
        if isinstance(judgement, Run)
        for line in judgement.lines
        if line not in [line_of(judgement, command) for command, _ in commands(block.text)]
    ]
    assert unused == []
