from __future__ import annotations

import pytest
from content_nodes import Client, Node, fault

from content_server.errors import InvalidArgument
from content_server.query.fulltext import parse_contains, to_fts5, to_tsquery
from content_server.query.parser import parse
from content_server.query.syntax import Comparison, Junction, Not

pytestmark = pytest.mark.waits

DOCUMENTS = (
    ("alpha.txt", b"the harbour of Hamburg is large", {"department": "claims", "amount": "10", "pages": "1"}),
    ("beta.txt", b"a small harbour and a bridge", {"department": "claims", "amount": "20.5", "pages": "2"}),
    ("gamma_1.txt", b"nothing but weather", {"department": "sales", "amount": "-5", "dueDate": "2024-05-01"}),
    ("gamma%2.txt", b"bridge over the river", {"status": "it's new", "dueDate": "2024-06-01T12:00:00Z"}),
    ("Delta.txt", b"", {"customer": "C1"}),
)


@pytest.fixture(scope="module")
def library(node: Node) -> str:
    """Create the folder `/library` and return its identifier.

    It contains the first three documents; the other documents are in its subfolder `/library/inner`.
    """
    with Client(node.url) as ann:
        folder = ann.folder("library")
        ann.folder("inner", "/library")
        ann.folder("library-not-below")
        ann.create("outside.txt", b"harbour", "/library-not-below")
        for number, (name, text, properties) in enumerate(DOCUMENTS):
            ann.create(name, text, "/library" if number < 3 else "/library/inner", **properties)
    return folder


def names(client: Client, condition: str, folder: str, order: str = "cmis:name") -> list[str]:
    statement = f"SELECT cmis:name FROM tt:document WHERE IN_TREE('{folder}') AND ({condition}) ORDER BY {order}"
    answer = client.query(statement)
    assert answer.status_code == 200, answer.text
    found = [result["succinctProperties"]["cmis:name"] for result in answer.json()["results"]]
    assert answer.json()["numItems"] == len(found)
    return [name.removesuffix(".txt") for name in found]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("cmis:name = 'alpha.txt'", ["alpha"]),
        ("tt:department = 'claims'", ["alpha", "beta"]),
        ("tt:department <> 'claims'", ["gamma_1"]),
        ("tt:department IN ('sales', 'claims') AND NOT tt:amount > 15", ["alpha", "gamma_1"]),
        ("tt:amount >= 10 AND tt:amount <= 20.5", ["alpha", "beta"]),
        ("tt:amount < -4.9", ["gamma_1"]),
        ("tt:pages = 1 OR tt:pages = 2", ["alpha", "beta"]),
        ("tt:department IS NULL", ["Delta", "gamma%2"]),
        ("tt:department IS NOT NULL AND tt:dueDate IS NULL", ["alpha", "beta"]),
        ("tt:dueDate < TIMESTAMP '2024-05-15T00:00:00.000Z'", ["gamma_1"]),
        ("tt:dueDate = TIMESTAMP '2024-06-01T14:00:00+02:00'", ["gamma%2"]),
        ("cmis:name LIKE 'gamma%'", ["gamma%2", "gamma_1"]),
        (r"cmis:name LIKE 'gamma\%%'", ["gamma%2"]),
        (r"cmis:name LIKE 'gamma\_%'", ["gamma_1"]),
        ("cmis:name LIKE 'delta%'", []),
        ("cmis:name NOT LIKE '%a.txt'", ["gamma%2", "gamma_1"]),
        ("tt:status = 'it''s new'", ["gamma%2"]),
        (r"tt:status = 'it\'s new'", ["gamma%2"]),
        ("cmis:contentStreamLength = 0", ["Delta"]),
        ("cmis:isLatestVersion = TRUE AND cmis:name = 'beta.txt'", ["beta"]),
        ("CONTAINS('harbour')", ["alpha", "beta"]),
        ("CONTAINS('HARBOUR bridge')", ["beta"]),
        ("CONTAINS('harbour -bridge')", ["alpha"]),
        ("CONTAINS('hamburg OR weather')", ["alpha", "gamma_1"]),
        ("CONTAINS('\"small harbour\"')", ["beta"]),
        ("CONTAINS('\"harbour small\"')", []),
        ("CONTAINS('weath*')", ["gamma_1"]),
        ("CONTAINS('bridge') AND cmis:name LIKE 'b%'", ["beta"]),
        ("cmis:objectId IN ('nosuch', 'nosuch;1.0')", []),
        ("cmis:createdBy = 'ann' AND cmis:creationDate > TIMESTAMP '2020-01-01T00:00:00Z' AND tt:customer = 'C1'", ["Delta"]),  # noqa: E501
    ],
)  # fmt: skip
def test_conditions(ann: Client, library: str, condition: str, expected: list[str]) -> None:
    assert sorted(names(ann, condition, library)) == expected


def test_folder_and_tree(ann: Client, library: str) -> None:
    statement = "SELECT cmis:name FROM tt:document WHERE {}('" + library + "') ORDER BY cmis:name"
    assert ann.query(statement.format("IN_FOLDER")).json()["numItems"] == 3
    assert ann.query(statement.format("IN_TREE")).json()["numItems"] == 5
    folders = ann.query(f"SELECT cmis:path FROM cmis:folder WHERE IN_TREE('{library}')").json()["results"]
    assert [f["succinctProperties"]["cmis:path"] for f in folders] == ["/library/inner"]
    root = ann.get("/browser").json()["content"]["rootFolderId"]
    assert ann.query(f"SELECT * FROM cmis:document WHERE IN_TREE('{root}')").json()["numItems"] == 6


def test_identifier_with_and_without_version(ann: Client, library: str) -> None:
    stored = ann.select("object", "/library/alpha.txt").json()["succinctProperties"]
    for id in (stored["cmis:objectId"], stored["cmis:versionSeriesId"]):
        found = ann.query(f"SELECT * FROM cmis:document WHERE cmis:objectId = '{id}'").json()["results"]
        assert found[0]["succinctProperties"]["cmis:name"] == "alpha.txt"
    missing = ann.query(f"SELECT * FROM cmis:document WHERE cmis:objectId = '{stored['cmis:versionSeriesId']};9.0'")
    assert missing.json()["results"] == []


def test_order_and_pages(ann: Client, library: str) -> None:
    assert names(ann, "tt:amount IS NOT NULL", library, "tt:amount DESC") == ["beta", "alpha", "gamma_1"]
    statement = f"SELECT cmis:name AS n FROM tt:document d WHERE IN_TREE('{library}') ORDER BY d.cmis:name DESC"
    seen = []
    for skip in (0, 2, 4):
        page = ann.query(statement, maxItems=2, skipCount=skip).json()
        seen += [result["succinctProperties"]["n"] for result in page["results"]]
        assert page["hasMoreItems"] == (skip < 4)
        assert page["numItems"] == 5
    assert len(set(seen)) == 5
    full = ann.query(statement, maxItems=1, succinct="false").json()["results"][0]["properties"]["n"]
    assert (full["id"], full["queryName"], full["value"]) == ("cmis:name", "n", seen[0])


def test_query_by_post(ann: Client, library: str) -> None:
    form = {
        "cmisaction": "query",
        "statement": "SELECT * FROM cmis:document WHERE CONTAINS('hamburg')",
        "succinct": "true",
    }
    answer = ann.post("/browser/content", data=form).json()
    assert [r["succinctProperties"]["cmis:name"] for r in answer["results"]] == ["alpha.txt"]


def test_full_text_follows_the_latest_version(ann: Client) -> None:
    id = ann.create("words.txt", b"zebra")["cmis:versionSeriesId"]

    def found(word: str) -> int:
        return int(ann.query(f"SELECT * FROM cmis:document WHERE CONTAINS('{word}')").json()["numItems"])

    ann.act("setContent", objectId=id, content=b"giraffe")
    assert (found("zebra"), found("giraffe")) == (0, 1)
    ann.act("checkOut", objectId=id)
    ann.act("setContent", objectId=f"{id};pwc", content=b"elephant")
    assert (found("giraffe"), found("elephant")) == (1, 0)
    ann.act("checkIn", objectId=f"{id};pwc")
    assert (found("giraffe"), found("elephant")) == (0, 1)
    ann.act("checkOut", objectId=id)
    ann.act("checkIn", objectId=f"{id};pwc")
    assert found("elephant") == 1
    ann.act("delete", objectId=id)
    assert found("elephant") == 0


@pytest.mark.parametrize(
    "statement",
    [
        "", "SELECT", "SELECT * FROM", "DELETE FROM cmis:document", "SELECT * FROM nosuch:type", "SELECT * FROM object",
        "SELECT nosuch:column FROM cmis:document", "SELECT tt:department FROM cmis:document", "SELECT * FROM cmis:document WHERE",  # noqa: E501
        "SELECT * FROM cmis:document WHERE cmis:name", "SELECT * FROM cmis:document WHERE cmis:name = ",
        "SELECT * FROM cmis:document WHERE cmis:name = 'open", "SELECT * FROM cmis:document WHERE cmis:name = 5",
        "SELECT * FROM cmis:document WHERE cmis:contentStreamLength = 'a'", "SELECT * FROM cmis:document WHERE cmis:name NOT = 'a'",  # noqa: E501
        "SELECT * FROM cmis:document WHERE cmis:contentStreamLength LIKE 'a'", "SELECT * FROM cmis:document; DROP TABLE object",  # noqa: E501
        "SELECT * FROM cmis:document WHERE cmis:creationDate > TIMESTAMP 'soon'", "SELECT * FROM cmis:document ORDER BY cmis:nosuch",  # noqa: E501
        "SELECT * FROM cmis:document WHERE CONTAINS('')", "SELECT * FROM cmis:document WHERE CONTAINS('-only')",
        "SELECT * FROM cmis:document WHERE CONTAINS('\" \"')", r"SELECT * FROM cmis:document WHERE cmis:name LIKE 'a\'",
        r"SELECT * FROM cmis:document WHERE cmis:name LIKE 'a\\\\\'", "SELECT * FROM cmis:document WHERE cmis:name = 'a' OR",  # noqa: E501
        "SELECT * FROM cmis:document WHERE " + "(" * 3000, "SELECT * FROM cmis:document WHERE " + "NOT " * 60 + "cmis:name = 'a'",  # noqa: E501
        "SELECT * FROM cmis:document WHERE cmis:contentStreamLength = " + "9" * 40, "SELECT * FROM cmis:document -- x",
        "SELECT * FROM cmis:document WHERE cmis:name = 'a\x00'", "S" * 40_000, "SELECT cmis:name, FROM cmis:document",
        "SELECT * FROM cmis:document WHERE cmis:objectId LIKE 'a%'", "SELECT * FROM cmis:document WHERE cmis:isMajorVersion = 'true'",  # noqa: E501
    ],
)  # fmt: skip
def test_statements_that_are_refused(ann: Client, statement: str) -> None:
    assert fault(ann.post("/browser/content", data={"cmisaction": "query", "statement": statement})) == (
        400,
        "invalidArgument",
    )


@pytest.mark.parametrize(
    "text",
    [
        "a*",
        "*",
        "a AND",
        "NEAR(a b)",
        "a:b",
        "(",
        ")",
        'a"b',
        "\\",
        "x & !y",
        "a'b",
        "col : x",
        "ü",
        "^a",
        "{a}",
        "a+b",
    ],
)
def test_full_text_operators_of_the_databases_are_only_words(ann: Client, text: str) -> None:
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    answer = ann.query(f"SELECT * FROM cmis:document WHERE CONTAINS('{quoted}')")
    assert answer.status_code == 200 or fault(answer) == (400, "invalidArgument")


def test_precedence() -> None:
    where = parse("SELECT * FROM cmis:document WHERE cmis:name = 'a' OR NOT cmis:name = 'b' AND cmis:name = 'c'").where
    a, b, c = (Comparison("cmis:name", "=", letter) for letter in "abc")
    assert where == Junction("OR", (a, Junction("AND", (Not(b), c))))


def test_contains_in_both_languages() -> None:
    terms = parse_contains('one -two OR "three four" fi*')
    assert to_fts5(terms) == '("one" NOT "two") OR ("three four" AND "fi"*)'
    assert to_tsquery(terms) == "('one' & !'two') | ('three four' & 'fi':*)"
    with pytest.raises(InvalidArgument, match="not excluded"):
        parse_contains("one OR -two")
