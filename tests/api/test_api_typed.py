"""Type checkers check programs that use the Python API."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import towtank

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "data" / "api" / "every_public_name.py"


def test_a_program_with_every_public_name_passes_strict_type_checks(tmp_path: Path) -> None:
    attributes = (node for node in ast.walk(ast.parse(PROGRAM.read_text("utf-8"))) if isinstance(node, ast.Attribute))
    used = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "towtank"}
    assert set(towtank.__all__) - {"errors"} <= used
    (tmp_path / "program.py").write_text(
        PROGRAM.read_text("utf-8") + '\nnumber: int = towtank.solve("m.yaml")\n', "utf-8"
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path), "program.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    # The added line causes the only error, so the package exports its types instead of `Any`.
    assert checked.stdout.count("error:") == 1, checked.stdout
    assert 'has type "Solution"' in checked.stdout
