"""Compiles statements of the CMIS 1.1 query language (section 2.1.14) to SQL; a statement can query only one type."""

from __future__ import annotations

from content_server.query.compiler import CompiledQuery, compile_order, compile_query
from content_server.query.parser import parse

__all__ = ["CompiledQuery", "compile_order", "compile_query", "parse"]
