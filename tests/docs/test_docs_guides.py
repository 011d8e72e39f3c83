"""What the guides for those who come from other tools show: the files are those of `examples/`, the commands work."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from towtank.workload import load_workload

ROOT = Path(__file__).parents[2]
GUIDES = [ROOT / "docs" / "guides" / "coming-from-other-tools.md", *sorted(ROOT.glob("docs/guides/from-*.md"))]
ADDRESS = "127.0.0.1:8080"
_SHOWN = re.compile(r"```\w+\n(?:#|//|--|<!--) (examples/[^ \n]+)(?: -->)?\n(.*?)```", re.DOTALL)
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
# Nobody waits for a minute to see that a command works; what it does is the same in a second.
_SHORTER = [
    (r"--duration \S+", "--duration 1s"),
    (r"--ramp \S+", "--ramp 100ms"),
    (r"^(wrk .*)-d\S+", r"\1-d1s"),
    (r"^(ab .*)-t \S+", r"\1-t 1"),
    (r"^(locust .*)-t \S+", r"\1-t 2s"),
    (r"^(towtank run .*)", r"\1 --no-report"),
    (r"^k6 run", "k6 run --quiet --stage 1s:2"),
]
_SHORT_STUDY = {"ramp_up: 10 s": "ramp_up: 100 ms", "settle: 5 s": "settle: 0 s", "steady: 1 min": "steady: 2 s"}
# Done; objective missed; not valid: the last two say something about a busy machine, none about the command.
_WORKS = (0, 3, 4)


@dataclass(frozen=True)
class Command:
    guide: str
    text: str

    @property
    def program(self) -> str:
        return self.text.split()[0]


def commands() -> list[list[Command]]:
    """Commands by guide, in their order: one may need what an earlier one made."""
    return [
        [
            Command(path.stem, line.removeprefix("$ "))
            for block in _CONSOLE.findall(path.read_text("utf-8"))
            for line in block.splitlines()
            if line.startswith("$ ")
        ]
        for path in GUIDES
    ]


def shown() -> list[tuple[str, str, str]]:
    return [(path.stem, name, text) for path in GUIDES for name, text in _SHOWN.findall(path.read_text("utf-8"))]


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    """Address of the shop of the examples."""
    command = [sys.executable, str(ROOT / "examples" / "shop" / "server.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
        server.terminate()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory, shop: str) -> Path:
    """The examples as in a checkout, with the address of the shop, and a study that is soon over."""
    tmp_path = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    port = shop.rpartition(":")[2]
    for path in (tmp_path / "examples").rglob("*.*"):
        text = path.read_text("utf-8").replace(ADDRESS, shop).replace(">8080<", f">{port}<")
        if path.name == "study.yaml":
            for long, short in _SHORT_STUDY.items():
                text = text.replace(long, short)
        path.write_text(text, "utf-8")
    return tmp_path


@pytest.mark.parametrize(("guide", "name", "text"), shown(), ids=lambda value: value if "\n" not in value else "")
def test_files_are_shown_as_they_are(guide: str, name: str, text: str) -> None:
    assert (ROOT / name).read_text("utf-8") == text, f"{guide} shows {name} otherwise than it is"


def test_the_accounts_are_shown_as_they_are() -> None:
    assert f"```csv\n{(ROOT / 'examples/shop/accounts.csv').read_text('utf-8')}```" in GUIDES[0].read_text("utf-8")


def test_every_guide_is_linked_and_has_commands() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    for path, found in zip(GUIDES, commands(), strict=True):
        assert f"guides/{path.name}" in index
        assert any(one.program == "towtank" for one in found), path.name


@dataclass
class Shell:
    """Runs commands in a checkout; one that several guides show is run once, and what it made is copied."""

    folder: Path
    made: dict[str, str] = field(default_factory=dict)

    def run(self, text: str, program: str) -> str | None:
        """Run a command; what it said where it failed."""
        out = re.search(r"--out (\S+)", text)
        same = re.sub(r"--out \S+", "", text) if "export" not in text else text
        if same in self.made:
            if out:
                shutil.copytree(self.folder / self.made[same], self.folder / out[1])
            return None
        words = shlex.split(text)
        ended = subprocess.run(
            [sys.executable, "-m", *words] if program == "towtank" else words,
            cwd=self.folder,
            env={**os.environ, "TOWTANK_STATE": str(self.folder / "state")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.made[same] = out[1] if out else ""
        works = ended.returncode in (_WORKS if program == "towtank" else (0,))
        return None if works else f"{text}\n{ended.returncode}\n{ended.stdout}{ended.stderr}"


@pytest.fixture(scope="module")
def shell(checkout: Path) -> Shell:
    return Shell(checkout)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("listed", commands(), ids=[path.stem for path in GUIDES])
def test_commands_work(listed: list[Command], shell: Shell, shop: str) -> None:
    ran = 0
    for command in listed:
        text = command.text.replace(ADDRESS, shop)
        for pattern, shorter in _SHORTER:
            text = re.sub(pattern, shorter, text)
        if command.program != "towtank" and shutil.which(command.program) is None:
            continue  # a peer that is not installed
        assert shell.run(text, command.program) is None
        ran += 1
    assert ran


@pytest.mark.parametrize(("form", "name"), [("k6", "from-k6/script.js"), ("jmx", "from-jmeter/plan.jmx")])
def test_imports_give_the_workloads_that_are_shown(form: str, name: str, tmp_path: Path) -> None:
    out = tmp_path / "imported.yaml"
    command = [sys.executable, "-m", "towtank", "import", form, str(ROOT / "examples" / name), "--out", str(out)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    kept = (ROOT / "examples" / name).with_name("workload.yaml").read_text("utf-8")
    assert without_title(out.read_text("utf-8")) == without_title(kept)


def without_title(text: str) -> list[str]:
    """The title has the path of the file as it was named."""
    return [line for line in text.splitlines() if not line.startswith(("title:", "# Imported"))]


def test_imported_workload_does_what_the_one_by_hand_does() -> None:
    by_hand = load_workload(ROOT / "examples" / "shop" / "workload.yaml").file.transactions["look_at_orders"]
    imported = load_workload(ROOT / "examples" / "from-k6" / "workload.yaml").file.transactions["script"]
    assert requests(by_hand) == requests(imported) == ["post /login", "get /orders", "get /orders/1"]


def requests(transaction: object) -> list[str]:
    """Methods and paths, in their order."""
    return [f"{method} {path}" for method, path in re.findall(r"\b(get|post)='([^']*)'", repr(transaction))]
