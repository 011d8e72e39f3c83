"""From measured points to a curve of capacity with honest intervals, to service demands, and to what they allow to say.

`fit_table` answers for a CSV file of any tool, `fit_results` for a results folder, `demands_document` tells the
service demands of one. Each audits what it reads before it models it.
"""

from towtank.model.fitting.demands import demands_document
from towtank.model.fitting.documents import Answer, Wish, fit_results, fit_table, written_model
from towtank.model.fitting.measured import is_results
from towtank.model.fitting.table import Columns

__all__ = [
    "Answer",
    "Columns",
    "Wish",
    "demands_document",
    "fit_results",
    "fit_table",
    "is_results",
    "written_model",
]
