"""Records the requests of a browser or another client, and converts them into a workload.

`proxy` relays HTTP and records every exchange. `authority` is a separate certificate authority that issues the
certificates for TLS clients. `browsing` drives a headless Chromium (`chromium`, `devtools`) through such a proxy. The
exchanges are stored in an HTTP Archive (`archive`). `finishing` converts the archive into a workload with the `har`
importer, and reports the parts of the recording that the workload lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.record.authority import Authority, authority_in
    from towtank.record.finishing import Recording, archive_at
    from towtank.record.proxy import PROXY_USER, Proxy, is_loopback, trust_of
    from towtank.record.recorder import Recorder
    from towtank.record.running import BrowserSession, record_browser, record_proxy
    from towtank.record.script import BrowserAction, ScriptFile, actions_opening, check_script, load_script

__getattr__, __dir__ = door(__name__)
