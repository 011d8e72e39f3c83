"""Stores results in folders on disk: a study run writes the folders, and the analysis reads them.

`folder` creates and opens the folders of a study and its runs, `lines` reads and writes the checksummed lines of
every recorded stream, and `segments` reads the records of the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.results.folder import EVENTS as EVENTS
    from towtank.results.folder import RUN_MANIFEST as RUN_MANIFEST
    from towtank.results.folder import SECRETS as SECRETS
    from towtank.results.folder import SECRETS_SCHEMA as SECRETS_SCHEMA
    from towtank.results.folder import STUDY_MANIFEST as STUDY_MANIFEST
    from towtank.results.folder import ResultsFolder as ResultsFolder
    from towtank.results.folder import RunFolder as RunFolder
    from towtank.results.folder import keep_json as keep_json
    from towtank.results.folder import offer_json as offer_json
    from towtank.results.folder import write_json as write_json
    from towtank.results.manifests import RunManifest as RunManifest
    from towtank.results.manifests import read_object as read_object
    from towtank.results.manifests import usable as usable

__getattr__, __dir__ = door(
    __name__,
    {
        "folder": (
            "EVENTS RUN_MANIFEST ResultsFolder RunFolder SECRETS SECRETS_SCHEMA STUDY_MANIFEST keep_json offer_json "
            "write_json"
        ),
        "manifests": "RunManifest read_object usable",
    },
)
