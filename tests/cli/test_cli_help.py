"""Help of the command line: complete sentences, in the order of `COMMANDS` and `GROUPS`, without slow imports."""

import re
import subprocess
import sys
from importlib import import_module

import pytest

from towtank.cli import main
from towtank.cli.app import COMMANDS, GROUPS


def _listed(text: str) -> dict[str, str]:
    """Read the section Commands: description by name of the command."""
    found: dict[str, str] = {}
    last = ""
    for line in text.partition("Commands:\n")[2].splitlines():
        name, words = re.fullmatch(r"  (\S*)\s+(.*)", line).groups()
        last = name or last
        found[last] = f"{found.get(last, '')} {words}".strip()
    return found


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], []], ids=" ".join)
def test_the_help_lists_every_command_with_a_whole_sentence(arguments, capsys) -> None:
    main(arguments)
    output = capsys.readouterr()
    listed = _listed(output.out or output.err)
    assert list(listed) == [*COMMANDS, *GROUPS]
    for name in COMMANDS:
        text = " ".join(import_module(f"towtank.cli.{name}_command").command.__doc__.split())
        assert listed[name].endswith(".")
        assert text.startswith(listed[name])


@pytest.mark.parametrize("name", GROUPS)
def test_the_help_of_a_group_lists_its_commands_with_whole_sentences(name, capsys) -> None:
    main([name, "--help"])
    listed = _listed(capsys.readouterr().out)
    commands = import_module(f"towtank.cli.{name}_command").group.registered_commands
    assert list(listed) == [command.name or command.callback.__name__ for command in commands]
    assert all(words.endswith(".") for words in listed.values())


def test_the_help_imports_neither_rich_nor_pydantic() -> None:
    program = "import sys; from towtank.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert "Commands:" in done.stdout
    assert not {name.split(".")[0] for name in done.stderr.split()} & {"rich", "pydantic", "numpy", "markdown_it"}
