"""Generated test data (populations): formats, sizes, determinism, and the effect of the database index on the view.

A population that exists already is not created again. A partial population, left by a killed process, is replaced; a
changed population can be restored.
"""

from __future__ import annotations

import csv
import hashlib
import io
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from content_nodes import Client, Node, fault
from PIL import Image

from content_server.populate import formats
from content_server.populate.classes import load_classes
from content_server.populate.words import text, vocabulary
from content_server.query import compile_query, parse

pytestmark = pytest.mark.waits

# Smallest scale at which a population has a document of each class; 44 MiB in total.
SCALE = "0.00001"
VIEW = (
    "SELECT cmis:objectId, cmis:name, tt:searchType FROM tt:search "
    "WHERE tt:searchType IN ('personal', 'shared', 'template') ORDER BY cmis:name"
)


def command(name: str, data: Path, *options: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-m", "content_server", name, "--data", str(data), *options]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=110, check=False)


def populate(data: Path, *options: str) -> str:
    done = command("populate", data, "--scale", SCALE, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def listing(data: Path, name: str) -> list[dict[str, str]]:
    with (data / name).open(newline="") as source:
        return list(csv.DictReader(source))


def tree(folder: Path) -> dict[str, str]:
    """Return the digest of every file in a folder, by its relative path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def rows(data: Path) -> list[str]:
    """Return all rows of the database of a population as text."""
    with sqlite3.connect(data / "content.sqlite") as connection:
        dump = list(connection.iterdump())
    connection.close()
    return dump


@pytest.fixture(scope="module")
def population(tmp_path_factory: pytest.TempPathFactory) -> Any:
    data = tmp_path_factory.mktemp("population")
    populate(data)
    yield data
    shutil.rmtree(data)


def test_classes_follow_the_table() -> None:
    classes, workflows = load_classes(0.001)
    counts = [kind.count for kind in classes]
    assert counts == [3000, 1500, 450, 150, 15, 2, 2, 4, 4, 4, 4]
    assert workflows == 180
    assert 290 < sum(kind.count * kind.size for kind in classes) / 2**20 < 320


def test_documents_have_their_sizes_and_formats(population: Path) -> None:
    documents = listing(population, "documents.csv")
    assert len(documents) == 30 + 15 + 5 + 2 + 7
    assert len({d["id"] for d in documents}) == len({d["path"] for d in documents}) == len(documents)
    contents = tree(population / "area")
    assert len(set(contents.values())) == len(documents)
    sizes = sorted(path.stat().st_size for path in (population / "area").rglob("*") if path.is_file())
    assert sizes == sorted(int(d["bytes"]) for d in documents)
    assert max(float(d["weight"]) for d in documents) == 1.0


def test_populated_repository_is_served(population: Path, start: Any) -> None:
    node: Node = start(data=population, users=False)
    accounts = listing(population, "accounts.csv")
    assert len(accounts) == 2000
    with Client(node.url, accounts[1999]["user"], accounts[1999]["password"]) as user:
        for document in listing(population, "documents.csv"):
            values = user.select("object", document["path"]).json()["succinctProperties"]
            assert values["cmis:versionSeriesId"] == document["id"]
            assert values["cmis:contentStreamMimeType"] == document["mime_type"]
            assert 10 <= sum(name.startswith("tt:") for name in values) <= 14
        for folder in listing(population, "folders.csv"):
            assert user.select("children", objectId=folder["id"]).json()["numItems"] <= 100
        assert user.query(VIEW).json()["numItems"] == len(listing(population, "searches.csv")) == 60
        for term in listing(population, "terms.csv")[::20]:
            found = user.query(f"SELECT * FROM cmis:document WHERE CONTAINS('{term['term']}')").json()
            assert found["numItems"] == int(term["documents"]) > 0
        pdf = next(d for d in listing(population, "documents.csv") if d["name"].endswith(".jpg"))
        rendition = user.select("content", objectId=pdf["id"], streamId="pdf")
        assert rendition.content.startswith(b"%PDF")
        assert user.query("SELECT * FROM tt:workflow WHERE tt:state IS NOT NULL").json()["numItems"] == 2


def test_same_seed_gives_the_same_bytes(population: Path, tmp_path: Path) -> None:
    populate(tmp_path, "--jobs", "2")
    for name in ("documents.csv", "folders.csv", "searches.csv", "terms.csv", "accounts.csv", "users.txt"):
        assert (tmp_path / name).read_bytes() == (population / name).read_bytes(), name
    assert tree(tmp_path / "area") == tree(population / "area")
    assert rows(tmp_path) == rows(population)
    shutil.rmtree(tmp_path / "area")


def test_other_seed_gives_other_documents_in_place_of_the_old(tmp_path: Path) -> None:
    populate(tmp_path)
    first = (tmp_path / "documents.csv").read_bytes()
    assert "nothing to do" in populate(tmp_path)
    assert "populated" in populate(tmp_path, "--seed", "2")
    assert (tmp_path / "documents.csv").read_bytes() != first
    assert len(tree(tmp_path / "area")) == len(listing(tmp_path, "documents.csv"))


# Program that creates a population and kills itself after the contents of the first folder.
KILLED = """
import os, signal, sys
from content_server.cli import main
from content_server.populate import population
write = population.write_documents
def write_and_die(*work):
    write(*work)
    os.kill(os.getpid(), signal.SIGKILL)
population.write_documents = write_and_die
main(sys.argv[1:])
"""


def test_killed_population_is_redone(population: Path, tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", KILLED, "populate", "--data", str(tmp_path), "--scale", SCALE]
    assert subprocess.run(arguments, stdout=subprocess.DEVNULL, check=False).returncode == -signal.SIGKILL
    assert tree(tmp_path / "area")
    refused = command("reset", tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "no complete population" in refused.stderr
    assert "populated" in populate(tmp_path)
    assert rows(tmp_path) == rows(population)


def test_reset_brings_the_populated_state_back(population: Path, start: Any) -> None:
    before, files = rows(population), tree(population / "area")
    node: Node = start(data=population, users=False)
    account = listing(population, "accounts.csv")[0]
    documents = listing(population, "documents.csv")
    with Client(node.url, account["user"], account["password"]) as user:
        user.create("added.txt", b"added by a run", "/inbox/000")
        user.act("update", objectId=documents[0]["id"], properties={"tt:status": "changed"})
        user.act("setContent", objectId=documents[1]["id"], content=b"replaced")
        user.act("delete", objectId=documents[2]["id"])
        user.act("checkOut", objectId=documents[3]["id"])
        user.act("checkIn", objectId=documents[3]["id"] + ";pwc", content=b"next version")
        busy = command("reset", population)
        assert (busy.returncode, "in use by a server" in busy.stderr) == (1, True)
        assert "in use by a server" in command("populate", population, "--scale", SCALE, "--seed", "7").stderr
    node.stop()
    assert rows(population) != before
    assert "3 contents" in command("reset", population).stdout
    assert rows(population) == before
    assert tree(population / "area") == files


def test_foreign_repository_is_not_overwritten(tmp_path: Path, start: Any) -> None:
    node: Node = start(data=tmp_path)
    with Client(node.url) as ann:
        ann.create("mine.txt")
    node.stop()
    refused = command("populate", tmp_path, "--scale", SCALE)
    assert refused.returncode == 1
    assert "that were not generated" in refused.stderr
    assert "at most 1" in command("populate", tmp_path, "--scale", "2").stderr


def plan(data: Path) -> str:
    """Return SQLite's query plan for the view."""
    compiled = compile_query(parse(VIEW), "sqlite")
    with sqlite3.connect(data / "content.sqlite") as connection:
        statement = f"EXPLAIN QUERY PLAN SELECT o.id FROM object o WHERE {compiled.where}{compiled.order}"
        found = "\n".join(row[3] for row in connection.execute(statement, compiled.parameters))
    connection.close()
    return found


def database_seconds(node: Node, account: dict[str, str], repetitions: int) -> float:
    with Client(node.url, account["user"], account["password"]) as user:
        name = 'content_server_database_seconds_total{statement="query"}'
        before = user.metrics().get(name, 0.0)
        for _ in range(repetitions):
            assert user.query(VIEW).json()["numItems"] == 60
        return user.metrics()[name] - before


def test_view_scans_the_properties_without_its_index(population: Path, start: Any) -> None:
    account = listing(population, "accounts.csv")[0]
    spent = {}
    for options in ((), ("--drop-index", "search_type"), ()):
        node: Node = start(*options, data=population, users=False)
        spent[bool(options)] = database_seconds(node, account, 5)
        node.stop()
        found = plan(population)
        assert ("USING COVERING INDEX search_type" in found) is not bool(options), found
        assert ("SCAN p" in found) is bool(options), found
        assert "SEARCH o USING INTEGER PRIMARY KEY" in found
    assert all(seconds > 0 for seconds in spent.values())


@pytest.mark.postgresql
def test_population_in_postgresql(tmp_path: Path, start: Any, new_database: Any) -> None:
    psycopg = pytest.importorskip("psycopg", reason="pip install 'psycopg[binary]'")
    options = ("--database", new_database())
    populate(tmp_path, *options)
    assert "nothing to do" in populate(tmp_path, *options)
    documents, account = listing(tmp_path, "documents.csv"), listing(tmp_path, "accounts.csv")[0]
    compiled = compile_query(parse(VIEW), "postgresql")
    statement = f"EXPLAIN SELECT o.id FROM object o WHERE {compiled.where}{compiled.order}".replace("?", "%s")
    for drop in ((), ("--drop-index", "search_type")):
        node: Node = start(*options, *drop, data=tmp_path, users=False)
        with Client(node.url, account["user"], account["password"]) as user:
            assert user.query(VIEW).json()["numItems"] == 60
            user.create(f"added{len(drop)}.txt", b"harbour", "/inbox/000")
            user.act("update", objectId=documents[0]["id"], properties={"tt:status": "changed"})
            user.act("delete", objectId=documents[1]["id"])
        node.stop()
        with psycopg.connect(options[1]) as connection:
            found = "\n".join(row[0] for row in connection.execute(statement, compiled.parameters))
        assert ("search_type" in found) is not bool(drop), found
        assert "contents of runs removed" in command("reset", tmp_path, *options).stdout
    node = start(*options, data=tmp_path, users=False)
    with Client(node.url, account["user"], account["password"]) as user:
        assert fault(user.select("object", "/inbox/000/added0.txt")) == (404, "objectNotFound")
        assert user.select("object", documents[1]["path"]).status_code == 200
        restored = user.select("object", objectId=documents[0]["id"]).json()["succinctProperties"]
        assert restored["tt:status"] != "changed"
        assert user.create("after reset.txt", path="/inbox/000")["cmis:name"] == "after reset.txt"


def test_text_is_language_of_an_exact_size() -> None:
    written = text(random.Random(1), 10_240)
    assert len(written.encode()) == 10_240
    assert written == text(random.Random(1), 10_240)
    words = [word.strip(".").lower() for word in written.split()]
    assert len(set(words) & set(vocabulary())) > 300
    assert words.count("the") > 40


@pytest.mark.parametrize(("kind", "part"), [("docx", "word/document.xml"), ("xlsx", "xl/workbook.xml"), ("pptx", "ppt/presentation.xml")])  # fmt: skip  # noqa: E501
def test_office_files_are_whole_zips(kind: str, part: str) -> None:
    first, second = (formats.office(kind, "a title", "Some text & more.", 102_400, 1, n) for n in (1, 2))
    assert (len(first), len(second), first == second) == (102_400, 102_400, False)
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert archive.testzip() is None
        assert part in archive.namelist()


def test_pdf_offsets_are_right() -> None:
    made = formats.pdf("a (title)", "One. Two.", 50_000, 1, 3)
    assert len(made) == 50_000
    start = int(made[made.rindex(b"startxref") + 9 :].split()[0])
    assert made[start : start + 4] == b"xref"
    for number, line in enumerate(made[start:].splitlines()[3:9], start=1):
        assert made[int(line[:10]) :].startswith(b"%d 0 obj" % number)


def test_jpeg_of_an_exact_size_decodes() -> None:
    made = formats.jpeg("title.jpg", 3 << 20, 1, 5)
    assert len(made) == 3 << 20
    with Image.open(io.BytesIO(made)) as image:
        image.load()
        assert image.size == (1600, 1200)
