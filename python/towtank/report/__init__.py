"""Writes the report of a study as HTML or PDF.

`source` reads a results folder, `content` and `figures` build the document model that `document` defines, `html` and
`paper` render the document, and `writing` writes the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.report.content.headline import headline, relaxed_limits_note, unchecked_note, verdict_level
    from towtank.report.document import Figure
    from towtank.report.failures import failure_lines
    from towtank.report.objectives import objective_unit
    from towtank.report.paper import PAPERS, refuse_without_typst
    from towtank.report.pictures import static_svg
    from towtank.report.single_figures import capacity_figure, drive_figure, run_figure, throughput_figure
    from towtank.report.small_pictures import compact_svg
    from towtank.report.source import Results, RunResult, derived_documents, load_results, measured_results
    from towtank.report.terminal import print_outcome
    from towtank.report.writing import (
        BRIEF_FILE,
        PDF_FILE,
        REPORT_FILE,
        write_loaded_pdf,
        write_loaded_report,
        write_report,
    )

__getattr__, __dir__ = door(__name__)
