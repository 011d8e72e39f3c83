"""Miss ratios of caches, computed from traces or from laws of popularity, and the load that the misses cause on the
disk.
"""

from towtank.model.caching.disk import Disk
from towtank.model.caching.index import Index, index_document
from towtank.model.caching.trace import CacheRequest, trace_document, zipf_document

__all__ = ["CacheRequest", "Disk", "Index", "index_document", "trace_document", "zipf_document"]
