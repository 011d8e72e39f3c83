"""Writes to terminals: streams that raise no errors, and tables that fit the width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.terminal.streams import any_output as any_output
    from towtank.terminal.streams import is_unicode as is_unicode
    from towtank.terminal.streams import visible as visible
    from towtank.terminal.tables import Printer as Printer
    from towtank.terminal.tables import fit_table as fit_table
    from towtank.terminal.tables import is_bounded as is_bounded
    from towtank.terminal.tables import stacked as stacked
    from towtank.terminal.tables import table_width as table_width

__getattr__, __dir__ = door(
    __name__,
    {
        "streams": "any_output is_unicode visible",
        "tables": "Printer fit_table is_bounded stacked table_width",
    },
)
