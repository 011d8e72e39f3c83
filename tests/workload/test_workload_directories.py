from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from towtank.errors import StudyError
from towtank.workload import compile_workload, filters, load_workload
from towtank.workload.directories import Ldap
from towtank.workload.drivers import network_address, speaks, target_part, with_place

DIRECTORY = {"people": ["ldap://127.0.0.1:389"]}


def compiled(folder: Path, steps: str, targets: dict[str, list[str]] | None = None) -> list[dict[str, Any]]:
    """Return the compiled calls of a workload that has one transaction."""
    path = folder / "workload.yaml"
    path.write_text(
        "schema: towtank/workload/1\nname: w\ntransactions:\n  t:\n"
        + "".join(f"    {line}\n" for line in steps.strip().splitlines())
        + "groups: {g: {loop: {mix: {t: 100}}}}\n"
    )
    plan = compile_workload(load_workload(path), targets=targets or DIRECTORY)
    return [op for op in plan["transactions"][0]["ops"][0]["ops"] if op["op"] == "call"]


def faults(folder: Path, steps: str) -> list[str]:
    with pytest.raises(StudyError) as raised:
        compiled(folder, steps)
    return [f"{fault.where}: {fault.message}" for fault in raised.value.faults]


def equal(attribute: str, value: int) -> dict[str, Any]:
    return {"equal": {"attribute": attribute, "value": value}}


# Examples from RFC 4526, section 3, and RFC 4515, section 4. The last two of RFC 4515 have values that are no text, so
# they are left out.
FILTERS = {
    "(cn=Babs Jensen)": (equal("cn", 0), ["Babs Jensen"]),
    "(!(cn=Tim Howes))": ({"not": equal("cn", 0)}, ["Tim Howes"]),
    "(&(objectClass=Person)(|(sn=Jensen)(cn=Babs J*)))": (
        {
            "and": [
                equal("objectClass", 0),
                {
                    "or": [
                        equal("sn", 1),
                        {"substrings": {"attribute": "cn", "initial": 2, "any": [], "final": None}},
                    ]
                },
            ]
        },
        ["Person", "Jensen", "Babs J"],
    ),
    "(o=univ*of*mich*)": (
        {"substrings": {"attribute": "o", "initial": 0, "any": [1, 2], "final": None}},
        ["univ", "of", "mich"],
    ),
    "(seeAlso=)": (equal("seeAlso", 0), [""]),
    "(cn:caseExactMatch:=Fred Flintstone)": (
        {"extensible": {"rule": "caseExactMatch", "attribute": "cn", "of_name": False, "value": 0}},
        ["Fred Flintstone"],
    ),
    "(cn:=Betty Rubble)": (
        {"extensible": {"rule": None, "attribute": "cn", "of_name": False, "value": 0}},
        ["Betty Rubble"],
    ),
    "(sn:dn:2.4.6.8.10:=Barney Rubble)": (
        {"extensible": {"rule": "2.4.6.8.10", "attribute": "sn", "of_name": True, "value": 0}},
        ["Barney Rubble"],
    ),
    "(:DN:2.4.6.8.10:=Dino)": (
        {"extensible": {"rule": "2.4.6.8.10", "attribute": None, "of_name": True, "value": 0}},
        ["Dino"],
    ),
    r"(o=Parens R Us \28for all your parenthetical needs\29)": (
        equal("o", 0),
        ["Parens R Us (for all your parenthetical needs)"],
    ),
    r"(cn=*\2A*)": ({"substrings": {"attribute": "cn", "initial": None, "any": [0], "final": None}}, ["*"]),
    r"(filename=C:\5cMyFile)": (equal("filename", 0), [r"C:\MyFile"]),
    r"(sn=Lu\c4\8di\c4\87)": (equal("sn", 0), ["Lučić"]),
    "(&)": ({"and": []}, []),
    "(|)": ({"or": []}, []),
    "(mail=*)": ({"present": "mail"}, []),
    "(age>=7)": ({"greater_or_equal": {"attribute": "age", "value": 0}}, ["7"]),
    "(age<=7)": ({"less_or_equal": {"attribute": "age", "value": 0}}, ["7"]),
    "(cn~=x)": ({"approximate": {"attribute": "cn", "value": 0}}, ["x"]),
    "(n=${random.int(1, 9)}*${x})": (
        {"substrings": {"attribute": "n", "initial": 0, "any": [], "final": 1}},
        ["${random.int(1, 9)}", "${x}"],
    ),
    r"(n=\24{x}$${y})": (equal("n", 0), ["$${x}$${y}"]),
}


@pytest.mark.parametrize("text", FILTERS)
def test_filters_are_those_of_the_standard(text: str) -> None:
    plan, values = FILTERS[text]
    assert filters.parse(text) == filters.Filter(plan, values)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("uid=x", "with ( at its beginning"),
        ("(uid=x", "with ) after '(uid=x'"),
        ("(uid=x))", "one filter in brackets"),
        ("(${a}=b)", "placeholders ${...} in values only"),
        ("(a=(b)", "with ) after"),
        ("(a=**)", "without two adjacent *"),
        ("(a>=b*)", "only in values that are compared with ="),
        (r"(a=\zz)", "two hexadecimal digits"),
        (r"(a=\ff)", "values are texts"),
        (r"(a=\24${b})", "without $ before a place"),
        ("(!)", "with ( after '(!'"),
        ("(=x)", "the name of an attribute"),
        ("(:=x)", "an attribute or a rule"),
        ("(a)", "with = after '(a'"),
        ("(a=${b)", "close every"),
        ("(!" * 40 + "(a=b)" + ")" * 40, "brackets nested at most 30 deep"),
    ],
)
def test_an_invalid_filter_is_reported(text: str, reported: str) -> None:
    with pytest.raises(ValueError, match=r"^must ") as raised:
        filters.parse(text)
    assert reported in str(raised.value)


def test_a_search_becomes_a_call_with_its_values_by_their_places(tmp_path: Path) -> None:
    steps = """
- set: {name: ada}
- ldap: {search: "ou=${name}", scope: one, filter: "(&(uid=${name})(mail=*@x))", attributes: [cn, mail], size_limit: 3}
  expect: {entries: 1, value: {mail: "${name}@x"}}
  extract: {entry: dn, mails: {column: mail, pick: all}}
"""
    (call,) = compiled(tmp_path, steps)
    name = {"variable": 0, "encode": "none"}
    assert call["do"] == {
        "kind": "ldap",
        "request": {
            "search": {
                "scope": "one",
                "filter": {
                    "and": [
                        equal("uid", 1),
                        {"substrings": {"attribute": "mail", "initial": None, "any": [], "final": 2}},
                    ]
                },
                "attributes": ["cn", "mail"],
                "size_limit": 3,
            }
        },
    }
    assert call["values"] == [["ou=", name], [name], ["@x"]]
    assert call["checks"] == [
        {"kind": "rows", "min": 1, "max": 1},
        {"kind": "value", "column": "mail", "equals": [name, "@x"]},
    ]
    assert [extraction["column"] for extraction in call["extract"]] == ["dn", "mail"]


def test_other_operations_become_calls(tmp_path: Path) -> None:
    steps = """
- ldap: {bind: "cn=a", password: b}
- ldap: {bind: ""}
- ldap: {compare: "cn=a", attribute: mail, value: x}
- ldap: {add: "cn=b", entry: {objectClass: [top, person], cn: b}}
- ldap: {modify: "cn=b", changes: {replace: {sn: x}, delete: {mail: []}, increment: {n: 2}}}
- ldap: {delete: "cn=b"}
- ldap: {unbind: true}
- ldap: {search: "", scope: base}
"""
    calls = compiled(tmp_path, steps)
    assert [call["do"]["request"] for call in calls] == [
        {"bind": {}},
        {"bind": {}},
        {"compare": {"attribute": "mail"}},
        {"add": {"attributes": [{"attribute": "objectClass", "values": [1, 2]}, {"attribute": "cn", "values": [3]}]}},
        {
            "modify": {
                "changes": [
                    {"do": "delete", "attribute": "mail", "values": []},
                    {"do": "replace", "attribute": "sn", "values": [1]},
                    {"do": "increment", "attribute": "n", "values": [2]},
                ]
            }
        },
        {"delete": {}},
        {"unbind": {}},
        {"search": {"scope": "base", "filter": {"present": "objectClass"}, "attributes": [], "size_limit": 0}},
    ]
    assert [call["values"] for call in calls] == [
        [["cn=a"], ["b"]],
        [[], None],
        [["cn=a"], ["x"]],
        [["cn=b"], ["top"], ["person"], ["b"]],
        [["cn=b"], ["x"], ["2"]],
        [["cn=b"]],
        [],
        [[]],
    ]


@pytest.mark.parametrize(
    ("steps", "reported"),
    [
        ("- ldap: {}", "must have one of bind, search, compare"),
        ("- ldap: {delete: x, search: y}", "got search and delete instead"),
        ("- ldap: {search: x, password: y}", "must not have password with search"),
        ("- ldap: {compare: x}", "must have attribute and value with compare"),
        ("- ldap: {add: x}", "must have entry with add"),
        ("- ldap: {add: x, entry: {cn: []}}", "at least 1"),
        ("- ldap: {add: x, entry: {'c n': y}}", "ldap.entry"),
        ("- ldap: {modify: x, changes: {}}", "must have one of delete, add, replace, increment"),
        ("- ldap: {bind: x}", "must have password with bind"),
        ("- ldap: {search: x, filter: uid=1}", "must be a filter with ("),
        ("- ldap: {search: x, filter: '(uid=${absent})'}", "variable that a step sets"),
        ("- ldap: {search: x, scope: all}", "ldap.scope"),
        ("- ldap: {unbind: false}", "ldap.unbind"),
        ("- ldap: {search: x}\n  expect: {rows: 1}", "rows"),
        ("- ldap: {search: x, attributes: cn}\n  extract: {m: mail}", "columns of the response (dn, cn), got mail"),
        ("- ldap: {delete: x}\n  expect: {value: {cn: x}}", "columns of the response (it has none), got cn"),
        ("- sql: select 1", "target that speaks SQL, got none"),
    ],
)
def test_faults_are_reported_at_their_places(tmp_path: Path, steps: str, reported: str) -> None:
    found = faults(tmp_path, steps)
    assert any(reported in fault for fault in found), found


def test_a_step_without_a_directory_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StudyError) as raised:
        compiled(tmp_path, "- ldap: {search: x}", {"web": ["127.0.0.1:80"]})
    assert "target that speaks LDAP" in str(raised.value)


def test_addresses_say_who_logs_in() -> None:
    address = "ldap://cn%3Dreader,dc%3Dorg:s%40t@h:1389"
    assert speaks([address]) == "ldap"
    assert target_part([address]) == {
        "scheme": "driver",
        "addresses": ["h:1389"],
        "driver": {"kind": "ldap", "user": "cn=reader,dc=org", "password": "s@t"},
    }
    assert target_part(["ldap://h"])["driver"] == {"kind": "ldap", "user": None, "password": None}
    assert network_address("ldap://h") == "h:389"
    assert with_place(address, "127.0.0.1:1389") == "ldap://cn%3Dreader,dc%3Dorg:s%40t@127.0.0.1:1389"


@pytest.mark.parametrize("length", [59, 60, 61, 80])
def test_the_name_of_a_search_has_at_most_sixty_characters(length: int) -> None:
    text = f"(cn={'x' * (length - len('search (cn=)'))})"
    found = Ldap.model_validate({"ldap": {"search": "o=a", "filter": text}}).what
    assert len(found) == min(length, 60)
    assert found.endswith("x)" if length <= 60 else "x…")
