"""Writes to terminals: streams that raise no errors, and tables that fit the width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.terminal.streams import any_output, is_unicode, visible
    from towtank.terminal.tables import Printer, fit_table, is_bounded, stacked, table_width

__getattr__, __dir__ = door(__name__)
