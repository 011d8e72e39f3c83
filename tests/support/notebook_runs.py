"""Runs the code cells of a notebook in a separate process, as Jupyter would, and returns their outputs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# Program that runs all cells in the same namespace. If a cell ends with an expression, the program returns its value as
# text and, if available, as HTML.
_RUNNER = """
import ast, contextlib, io, json, sys

def outputs_of(source, names):
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said, outputs = io.StringIO(), []
    with contextlib.redirect_stdout(said):
        exec(compile(tree, "<cell>", "exec"), names)
        value = None if last is None else eval(compile(last, "<cell>", "eval"), names)
    if said.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": said.getvalue().splitlines(keepends=True)})
    if value is not None:
        shown = {"text/plain": [repr(value)]}
        if hasattr(value, "_repr_html_"):
            shown["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "data": shown, "metadata": {}})
    return outputs

names = {"__name__": "__main__"}
json.dump([outputs_of(source, names) for source in json.load(sys.stdin)], sys.stdout)
"""


def code_cells(book: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def run_notebook(path: Path) -> list[list[dict[str, Any]]]:
    """Run a notebook in a copy of its folder; return the outputs of each code cell."""
    sources = ["".join(cell["source"]) for cell in code_cells(json.loads(path.read_text("utf-8")))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "COLUMNS": "160"}
    with tempfile.TemporaryDirectory() as scratch:
        folder = shutil.copytree(path.parent, Path(scratch) / path.parent.name)
        done = subprocess.run(
            [sys.executable, "-c", _RUNNER],
            input=json.dumps(sources),
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    found: list[list[dict[str, Any]]] = json.loads(done.stdout)
    return found


def text_of(outputs: list[dict[str, Any]]) -> str:
    parts = [
        output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"] for output in outputs
    ]
    return "\n".join("".join(part) for part in parts)
