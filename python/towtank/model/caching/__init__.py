"""Miss ratios of caches, computed from traces or from Zipf's law, and the load that the misses cause on the disk."""

from towtank.model.caching.disk import CacheDisk
from towtank.model.caching.index import CachedIndex, index_document
from towtank.model.caching.trace import CacheRequest, trace_document, zipf_document
