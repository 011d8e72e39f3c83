"""Memory and caches: miss ratios from traces and from laws of popularity, and what the disk then has to do."""

from towtank.model.caching.disk import Disk
from towtank.model.caching.index import Index, index_document
from towtank.model.caching.trace import CacheWish, trace_document, zipf_document

__all__ = ["CacheWish", "Disk", "Index", "index_document", "trace_document", "zipf_document"]
