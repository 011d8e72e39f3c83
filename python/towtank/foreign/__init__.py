"""Reads result files of other load generators. Such a file contains either individual requests with times, or a
summary.

`read` recognises the format of a file by its content. To add a format, write a module in `forms` and list it there.
"""

from towtank.foreign.reading import Foreign, read, recognised
from towtank.foreign.requests import Requests, Summary

__all__ = ["Foreign", "Requests", "Summary", "read", "recognised"]
