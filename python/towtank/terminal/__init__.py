"""Output on a terminal: streams that never raise on output, and tables that fit the width."""

from towtank.terminal.streams import any_output, is_unicode, visible
from towtank.terminal.tables import fit_table, is_bounded, stacked, table_width

__all__ = ["any_output", "fit_table", "is_bounded", "is_unicode", "stacked", "table_width", "visible"]
