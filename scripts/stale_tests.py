#!/usr/bin/env python3
"""Find tests that use a record of Towtank as a dictionary, such as `run["users"]`; print them as mypy does.

Such a test was written before the record replaced a dictionary. The gate does not run tests marked `waits`, so only the
types show that they are stale. Other errors of mypy in tests, which have no strict types, are not printed.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tracked import tracked

ROOT = Path(__file__).resolve().parents[1]
CONFIG = """[mypy]
python_version = 3.11
plugins = pydantic.mypy
mypy_path = python:reference/content_server/src:tests/support:tests:scripts
check_untyped_defs = True
ignore_missing_imports = True
explicit_package_bases = True
namespace_packages = True
"""
_USED_AS_DICTIONARY = re.compile(
    r'error: (?:Value of type "(\w+)" is not indexable|Unsupported target for indexed assignment \("(\w+)"\)|'
    r'"(\w+)" has no attribute "(?:get|items|keys|values|pop|setdefault|update)"|'
    r'Unsupported right operand type for in \("(\w+)"\))'
)


def main() -> int:
    files = [str(path) for path in tracked(ROOT, "tests/*.py") if path.name != "conftest.py"]
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as config:
        config.write(CONFIG)
        config.flush()
        command = [sys.executable, "-m", "mypy", "--config-file", config.name, "--no-error-summary", *files]
        printed = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    if printed.returncode not in (0, 1):
        print(printed.stdout + printed.stderr, file=sys.stderr)
        return 2
    stale = stale_lines(printed.stdout, classes(ROOT / "python" / "towtank"))
    print(*stale, sep="\n", end="\n" if stale else "")
    return 1 if stale else 0


def stale_lines(errors: str, records: set[str]) -> list[str]:
    """Return the lines of mypy's output about a class of `records` that is used as a dictionary."""
    lines = errors.splitlines()
    return [line for line in lines if (found := _USED_AS_DICTIONARY.search(line)) and set(found.groups()) & records]


def classes(folder: Path) -> set[str]:
    """Return the names of all classes of a package."""
    trees = (ast.parse(path.read_text("utf-8")) for path in folder.rglob("*.py"))
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


if __name__ == "__main__":
    sys.exit(main())
