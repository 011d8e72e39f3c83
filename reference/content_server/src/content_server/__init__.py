"""Small content-management server that implements the CMIS 1.1 Browser Binding.

`application` counts and authenticates a request, and passes it to a thread of `workers`. On this thread, `browser`
reads the parameters and writes JSON, and `repository` executes the operation on `database` (metadata) and `storage`
(content). `repository`, `database` and `storage` do not depend on HTTP.
"""

from __future__ import annotations

__version__ = "0.1.0"
