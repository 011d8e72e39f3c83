"""Writes the report of a study as HTML or PDF.

`source` reads a results folder, `content` and `figures` build the document model that `document` defines, `html` and
`paper` render the document, and `writing` writes the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.report.content.headline import headline as headline
    from towtank.report.content.headline import relaxed_limits_note as relaxed_limits_note
    from towtank.report.content.headline import unchecked_note as unchecked_note
    from towtank.report.content.headline import verdict_level as verdict_level
    from towtank.report.document import Figure as Figure
    from towtank.report.failures import failure_lines as failure_lines
    from towtank.report.objectives import objective_unit as objective_unit
    from towtank.report.paper import PAPERS as PAPERS
    from towtank.report.paper import refuse_without_typst as refuse_without_typst
    from towtank.report.pictures import static_svg as static_svg
    from towtank.report.single_figures import capacity_figure as capacity_figure
    from towtank.report.single_figures import drive_figure as drive_figure
    from towtank.report.single_figures import run_figure as run_figure
    from towtank.report.single_figures import throughput_figure as throughput_figure
    from towtank.report.small_pictures import compact_svg as compact_svg
    from towtank.report.source import Results as Results
    from towtank.report.source import RunResult as RunResult
    from towtank.report.source import derived_documents as derived_documents
    from towtank.report.source import load_results as load_results
    from towtank.report.source import measured_results as measured_results
    from towtank.report.terminal import print_outcome as print_outcome
    from towtank.report.writing import BRIEF_FILE as BRIEF_FILE
    from towtank.report.writing import PDF_FILE as PDF_FILE
    from towtank.report.writing import REPORT_FILE as REPORT_FILE
    from towtank.report.writing import write_loaded_pdf as write_loaded_pdf
    from towtank.report.writing import write_loaded_report as write_loaded_report
    from towtank.report.writing import write_report as write_report

__getattr__, __dir__ = door(
    __name__,
    {
        "content.headline": "headline relaxed_limits_note unchecked_note verdict_level",
        "document": "Figure",
        "failures": "failure_lines",
        "objectives": "objective_unit",
        "paper": "PAPERS refuse_without_typst",
        "pictures": "static_svg",
        "single_figures": "capacity_figure drive_figure run_figure throughput_figure",
        "small_pictures": "compact_svg",
        "source": "Results RunResult derived_documents load_results measured_results",
        "terminal": "print_outcome",
        "writing": "BRIEF_FILE PDF_FILE REPORT_FILE write_loaded_pdf write_loaded_report write_report",
    },
)
