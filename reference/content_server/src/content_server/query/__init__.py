"""Query language of CMIS 1.1 (section 2.1.14), limited to queries of one type. Statements are split into tokens, parsed
into a syntax tree, and compiled to SQL.
"""

from __future__ import annotations

from content_server.query.compiler import CompiledQuery, compile_order, compile_query
from content_server.query.parser import parse

__all__ = ["CompiledQuery", "compile_order", "compile_query", "parse"]
