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


def test_tests_of_fit_import_special_functions_alone() -> None:
    found = imported_by(
        "import numpy\n"
        "from towtank.analysis.statistics import goodness, histogram_layout, histograms\n"
        "layout = histogram_layout.Layout(1, 10**10, 3)\n"
        "times = histograms.gather(layout, 30_000 + numpy.arange(900), numpy.ones(900))\n"
        "goodness.kolmogorov(times, goodness.uniform(0.0, 0.9))\n"
        "goodness.kolmogorov(times, goodness.truncated_normal(0.4, 0.3, 0.0, 0.9))\n"
        "goodness.multinomial([30, 40], [1.0, 1.0])"
    )
    assert found == {"scipy.special"}
