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
    from towtank.record.authority import Authority as Authority
    from towtank.record.authority import authority_in as authority_in
    from towtank.record.finishing import Recording as Recording
    from towtank.record.finishing import archive_at as archive_at
    from towtank.record.proxy import PROXY_USER as PROXY_USER
    from towtank.record.proxy import Proxy as Proxy
    from towtank.record.proxy import is_loopback as is_loopback
    from towtank.record.proxy import trust_of as trust_of
    from towtank.record.recorder import Recorder as Recorder
    from towtank.record.running import BrowserSession as BrowserSession
    from towtank.record.running import record_browser as record_browser
    from towtank.record.running import record_proxy as record_proxy
    from towtank.record.script import BrowserAction as BrowserAction
    from towtank.record.script import ScriptFile as ScriptFile
    from towtank.record.script import actions_opening as actions_opening
    from towtank.record.script import check_script as check_script
    from towtank.record.script import load_script as load_script

__getattr__, __dir__ = door(
    __name__,
    {
        "authority": "Authority authority_in",
        "finishing": "Recording archive_at",
        "proxy": "PROXY_USER Proxy is_loopback trust_of",
        "recorder": "Recorder",
        "running": "BrowserSession record_browser record_proxy",
        "script": "BrowserAction ScriptFile actions_opening check_script load_script",
    },
)
