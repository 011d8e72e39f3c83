"""Parts of SciPy are imported only when they are used, because their import takes half a second of CPU time."""

from __future__ import annotations

import subprocess
import sys

PARTS = frozenset({f"scipy.{part}" for part in ("interpolate", "linalg", "optimize", "special", "stats")})


def imported_by(program: str) -> set[str]:
    """Run a program in a new Python process, and return the parts of SciPy that it has imported."""
    program += "\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    return PARTS & set(done.stdout.split())


def test_what_reads_models_and_writes_reports_imports_none_of_it() -> None:
    assert imported_by("import towtank.report, towtank.report.source, towtank.model.fitting") == set()


def test_an_interval_imports_special_functions_alone() -> None:
    found = imported_by("from towtank.distributions import t_quantile; t_quantile(0.975, 9)")
    assert found == {"scipy.special"}
