"""Reads result files of other load generators. Such a file contains either individual requests with times, or a
summary.

`read_foreign` recognises the format of a file by its content. To add a format, write a module in `forms` and list the
module in `forms/__init__.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.foreign.reading import Foreign, read_foreign
    from towtank.foreign.requests import Requests, Summary

__getattr__, __dir__ = door(__name__)
