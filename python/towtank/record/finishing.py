"""Converts a recording into a workload, and reports the result."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from towtank.errors import TargetError
from towtank.record.archive import Archive
from towtank.record.recorder import Recorder
from towtank.workload import (
    ImportDraft,
    ImportOptions,
    ImportResult,
    finish_import,
    identifier,
    import_document,
    read_import,
)

SCHEMA = "towtank/record/1"
# Word that replaces the path of the HAR archive in notes if the user does not keep the archive. Line numbers in such
# notes are the numbers of requests.
UNKEPT = "recording"


@dataclass(frozen=True)
class Recording:
    """Finished recording, by `proxy` or `browser`, with the path of the archive if the user keeps it."""

    how: str
    recorder: Recorder
    har: Path | None
    keep_passwords: bool = False

    @property
    def archive(self) -> Archive:
        """Archive of the recorded exchanges."""
        return self.recorder.archive

    def workload(self, out: Path | None) -> ImportResult:
        """Convert the recording into a workload.

        Raises
        ------
        TargetError
            If nothing was recorded.
        StudyError
            If no recorded request can be converted.
        """
        if not self.archive.count:
            raise TargetError(f"nothing was recorded{self._instead()}", hint=_HINTS[self.how])
        folder = out.parent if out is not None else Path()
        options = ImportOptions(
            hosts=tuple(sorted(self.recorder.only)),
            folder=folder,
            source="" if self.har is not None else UNKEPT,
            host_option="--only",
            keep_passwords=self.keep_passwords,
        )
        draft = read_import("har", self.archive.path, options)
        draft.name = identifier(out.stem if out is not None else "", "recording")
        hosts = ", ".join(sorted({address.partition("://")[2] for address in draft.targets.values()}))
        draft.title = f"Recorded session on {hosts}"
        draft.form = "recording"
        draft.origin = f"Recorded by towtank record {self.how}."
        if self.har is None:
            _without_columns(draft)
        draft.findings["summary"] = [*self._summary(draft), *draft.findings.get("summary", [])]
        return finish_import(draft, folder)

    def _instead(self) -> str:
        recorder = self.recorder
        parts = [
            (len(recorder.passed), "hosts passed through"),
            (len(recorder.untrusted), "hosts refused by the client"),
            (len(recorder.unrecorded), "hosts that --only excludes"),
        ]
        shown = [f"{count} {what}" for count, what in parts if count]
        return f" ({', '.join(shown)})" if shown else ""

    def document(self, imported: ImportResult, out: Path | None) -> dict[str, object]:
        """Return the result of the recording as a JSON object: numbers of requests and hosts, and the workload."""
        recorder = self.recorder
        head = {
            "schema": SCHEMA,
            "how": self.how,
            "har": str(self.har) if self.har is not None else None,
            "requests": self.archive.count,
            "without_answer": self.archive.failed,
            "hosts": dict(sorted(self.archive.hosts.items())),
            "in_workload": in_workload(imported.draft),
            "not_recorded": {
                "passed_through": dict(recorder.passed),
                "refused_by_client": dict(recorder.untrusted),
                "other_hosts": dict(recorder.unrecorded),
                "browser_services": dict(recorder.refused),
            },
        }
        rest = import_document(imported, str(out) if out is not None else None)
        return {**head, **{key: value for key, value in rest.items() if key not in {"schema", "format", "file"}}}

    def _summary(self, draft: ImportDraft) -> list[str]:
        count, archive = in_workload(draft), self.archive
        hosts = ", ".join(f"{host} ({number})" for host, number in sorted(archive.hosts.items()))
        lines = [
            f"recorded: {archive.count} requests, {archive.failed} of them without a complete response: {hosts}",
            f"in the workload: {count['requests']} requests on {count['pages']} pages, "
            f"{archive.count - count['requests']} left out, "
            f"{len(draft.findings.get('correlations', []))} correlated values",
        ]
        for what, counter in (
            ("passed through unread", self.recorder.passed),
            ("refused by the client, which does not trust the certificate authority", self.recorder.untrusted),
            ("not recorded, because it is not among the hosts of --only", self.recorder.unrecorded),
            ("not relayed, because the browser contacts this host for its own purposes", self.recorder.refused),
        ):
            lines += [f"{host}: {what}: {number} times" for host, number in sorted(counter.items())]
        return lines


_HINTS = {
    "proxy": "set the proxy of the client to the address that was printed, and see docs/guides/record.md for HTTPS",
    "browser": "check that the server of the first URL responds",
}


def in_workload(draft: ImportDraft) -> dict[str, int]:
    """Return the number of requests and the number of pages in the workload that a recording was converted into."""
    pages = [item for items in draft.transactions.values() for item in items if "page" in item]
    return {"requests": sum(len(page["steps"]) for page in pages), "pages": len(pages)}


def _without_columns(draft: ImportDraft) -> None:
    """Remove column numbers from notes about an archive that is not kept. Line numbers are request numbers."""
    for note in draft.notes.sorted():
        lines = sorted({(line, 0) for line, _ in note.places})
        note.times -= len(note.places) - len(lines)
        note.places = lines


@contextmanager
def archive_at(path: Path | None, note: Callable[[str], None]) -> Iterator[Archive]:
    """Yield an archive in the file that the user names, or else in a temporary file, which is removed at the end.

    If an exception is raised, an archive that contains complete exchanges is kept, and its path is reported.
    """
    scratch = None
    if path is None:
        descriptor, scratch = tempfile.mkstemp(prefix="towtank-recording-", suffix=".har")
        os.close(descriptor)
    archive = Archive(path or Path(str(scratch)))
    try:
        yield archive
    except BaseException:
        archive.close()
        if path is not None or archive.count > archive.failed:
            note(f"the recording is kept in {archive.path}: towtank import har {archive.path}")
        else:
            archive.path.unlink(missing_ok=True)
        raise
    archive.close()
    if scratch is not None:
        archive.path.unlink(missing_ok=True)
