"""Generates folders, documents, searches, workflows and users, and writes lists of them for the workload."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import random
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from content_server.database import Database, open_database
from content_server.database.schema import PROPERTY_INDEXES
from content_server.populate import snapshot, words
from content_server.populate.classes import DocumentClass, load_classes
from content_server.populate.documents import USERS, Document, user_name, write_documents
from content_server.populate.progress import Progress
from content_server.populate.tables import (
    INBOXES,
    PER_FOLDER,
    Folder,
    Rows,
    add_document,
    add_folder,
    add_searches,
    add_workflows,
)
from content_server.serve import data_lock, ensure_root
from content_server.settings import Settings
from content_server.users import hash_password

# Version of the generated documents; to be increased when the same scale and seed no longer produce the same documents.
VERSION = 1
# Exponent of Zipf's law for the popularity of documents: few documents are requested often, most documents rarely.
POPULARITY_EXPONENT = 0.8
# Cost parameter N of password hashes. It may be low, because the generated passwords are public (`accounts.csv`).
_ACCOUNT_SCRYPT_N = 2
# Classes of search terms: name, and the bounds of the share of text documents that contain the term.
_TERM_CLASSES = (("rare", 0.0, 0.005), ("medium", 0.005, 0.05), ("common", 0.05, 0.3))
_TERMS_PER_CLASS = 200
_LISTS = ("documents.csv", "folders.csv", "searches.csv", "terms.csv", "accounts.csv", "users.txt")


def populate(settings: Settings, scale: float, seed: int, jobs: int = 1, quiet: bool = False) -> str:
    """Fill the repository, unless it already contains this population; return a sentence that reports the result.

    Raises
    ------
    StartError
        If the repository contains documents that were not generated, or is in use.
    """
    begin = time.monotonic()
    wanted = json.dumps({"version": VERSION, "scale": scale, "seed": seed})
    with data_lock(settings.data, exclusive=True):
        found = snapshot.population_of(settings)
        lists = all((settings.data / name).exists() for name in _LISTS)
        if found == (wanted, "complete") and lists and snapshot.exists(settings):
            return "nothing to do: the repository already contains this population"
        snapshot.clear(settings)
        database = open_database(settings.database, str(settings.data), 1, synchronous=False)
        try:
            count = _fill(settings, database, wanted, (scale, seed, jobs), quiet)
        finally:
            database.close()
        os.sync()
        snapshot.take(settings, wanted)
    return f"populated {count} documents in {time.monotonic() - begin:.1f} s"


def _fill(settings: Settings, database: Database, wanted: str, what: tuple[float, int, int], quiet: bool) -> int:
    scale, seed, jobs = what
    classes, workflows = load_classes(scale)
    database.create_schema(indexes=False)
    snapshot.mark(database, wanted, "partial")
    snapshot.begin(database)
    ensure_root(database)
    with database.write() as session:
        session.change("update", "UPDATE object SET created_at = 0, modified_at = 0 WHERE number = 1")
    rows = Rows()
    listed: list[tuple[Folder, DocumentClass, Document]] = []
    terms: Counter[str] = Counter()
    folders: list[Folder] = []
    total = sum(kind.count for kind in classes)
    with Progress("documents", total, quiet) as progress:
        for folder, kind, documents in _documents(rows, seed, classes, settings.area, jobs, folders):
            for document in documents:
                add_document(rows, folder, kind, document)
                terms.update(set(re.findall(r"[a-z]+", (document.text or "").lower())))
                # Texts are indexed already, so they are removed to save memory.
                listed.append((folder, kind, _without_text(document)))
            progress.advance(len(documents))
            if len(rows.objects) >= 1000:
                _insert(rows, database)
    searches = add_searches(rows, seed)
    add_workflows(rows, seed, workflows, [document.id for _, _, document in listed])
    _insert(rows, database)
    for name in PROPERTY_INDEXES:
        database.set_index(name, True)
    _write_lists(settings.data, seed, listed, folders, searches, terms)
    snapshot.finish(database, rows.last)
    return total


def _without_text(document: Document) -> Document:
    return Document(**{**document.__dict__, "text": None, "properties": {}, "older": ()})


def _insert(rows: Rows, database: Database) -> None:
    with database.write() as session:
        rows.insert(database, session)


def _documents(
    rows: Rows, seed: int, classes: Sequence[DocumentClass], area: Path, jobs: int, folders: list[Folder]
) -> Iterator[tuple[Folder, DocumentClass, list[Document]]]:
    """Add folders, write content files, and yield the documents of each folder.

    The number of parallel jobs does not affect the order of the documents.
    """
    area.mkdir(parents=True, exist_ok=True)
    top = add_folder(rows, seed, 1, "/population", "top")
    inbox = add_folder(rows, seed, 1, "/inbox", "top")
    folders += [add_folder(rows, seed, inbox.number, f"/inbox/{n:03d}", "inbox") for n in range(INBOXES)]
    plan: list[tuple[Folder, tuple[int, DocumentClass, int, range, Path]]] = []
    first = 1
    for kind in classes:
        parent = add_folder(rows, seed, top.number, f"{top.path}/{kind.slug}", "class")
        for start in range(0, kind.count, PER_FOLDER):
            folder = add_folder(rows, seed, parent.number, f"{parent.path}/{start // PER_FOLDER:03d}", "population")
            folders.append(folder)
            plan.append((folder, (seed, kind, first, range(start, min(start + PER_FOLDER, kind.count)), area)))
        first += kind.count
    if jobs == 1:
        yield from ((folder, work[1], write_documents(*work)) for folder, work in plan)
        return
    with ProcessPoolExecutor(jobs) as pool:
        written = pool.map(write_documents, *zip(*(work for _, work in plan), strict=True))
        yield from ((folder, work[1], documents) for (folder, work), documents in zip(plan, written, strict=True))


def _write_lists(
    data: Path,
    seed: int,
    listed: Sequence[tuple[Folder, DocumentClass, Document]],
    folders: Sequence[Folder],
    searches: Iterable[tuple[str, str, str]],
    terms: Counter[str],
) -> None:
    ranks = list(range(1, len(listed) + 1))
    random.Random(f"{seed}:popularity").shuffle(ranks)
    _write_csv(
        data / "documents.csv",
        ("id", "path", "name", "class", "mime_type", "bytes", "weight"),
        (
            (
                d.id,
                f"{f.path}/{d.name}",
                d.name,
                k.name,
                k.mime_type,
                k.size,
                f"{rank**-POPULARITY_EXPONENT:.6f}",
            )
            for (f, k, d), rank in zip(listed, ranks, strict=True)
        ),
    )
    _write_csv(data / "folders.csv", ("id", "path", "kind"), ((f.id, f.path, f.kind) for f in folders))
    _write_csv(data / "searches.csv", ("id", "name", "search_type"), searches)
    texts = sum(1 for _, kind, _ in listed if kind.extension == "txt")
    _write_csv(data / "terms.csv", ("term", "class", "documents"), _terms(terms, texts, seed))
    _write_accounts(data, seed)


def _terms(terms: Counter[str], texts: int, seed: int) -> Iterator[tuple[str, str, int]]:
    source = random.Random(f"{seed}:terms")
    vocabulary = set(words.vocabulary())
    for name, low, high in _TERM_CLASSES:
        # Only complete words of the vocabulary become search terms, because a text may end within a word.
        known = sorted(t for t in vocabulary if len(t) > 3 and t in terms and low * texts <= terms[t] < high * texts)
        for term in sorted(source.sample(known, min(_TERMS_PER_CLASS, len(known)))):
            yield term, name, terms[term]


def _write_accounts(data: Path, seed: int) -> None:
    accounts = []
    for number in range(1, USERS + 1):
        digest = hashlib.sha256(f"account:{seed}:{number}".encode()).hexdigest()
        accounts.append((user_name(number), digest[:12], bytes.fromhex(digest[32:])))
    _write_csv(data / "accounts.csv", ("user", "password"), ((name, password) for name, password, _ in accounts))
    lines = [f"{name}:{hash_password(password, salt, _ACCOUNT_SCRYPT_N)}:editor\n" for name, password, salt in accounts]
    (data / "users.txt").write_text("".join(lines), encoding="utf-8")


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
