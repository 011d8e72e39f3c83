"""Functions that change the recordings of an undisturbed run, and functions that read the verdict on the
changed run.
"""

from __future__ import annotations

from dataclasses import replace

from even_runs import even_script, stages_of
from synthetic_runs import MONOTONIC_NS

from towtank.analysis import summarize_run
from towtank.results import lines, read_object
from towtank.results.folder import write_json

SECOND = 1_000_000_000


def script(**changes):
    """Return the script of an undisturbed run: eight users, eight transactions per second, a steady stage of 40 s."""
    base = even_script(stages_of(8, 2.0, 40.0), users=8, response_s=0.25, think_s=0.75, seconds=42.0, service_s=0.05)
    return replace(base, **changes)


def rewrite(path, change):
    """Rewrite every document of a recorded stream.

    `change` takes a document and returns the new document, or None to remove the document.
    """
    documents = [change(document) for document in list(lines.read(path))]
    path.write_bytes(b"".join(lines.encode(document) for document in documents if document is not None))


def change_engine(run, **fields):
    write_json(run.engine / "engine.json", {**read_object(run.engine / "engine.json"), **fields})


def on_samples(change):
    def wrapped(document):
        if document["k"] == "sample":
            change(document, (document["t_ns"] - MONOTONIC_NS) / SECOND)
        return document

    return wrapped


def reasons(run, limits=None):
    return {
        reason["kind"]: reason for reason in reversed(summarize_run(run, limits, tables=False)["verdict"]["reasons"])
    }


def on_intervals(change):
    def wrapped(document):
        if document["k"] == "interval":
            change(document, document["t1_ns"] / SECOND)
        return document

    return wrapped
