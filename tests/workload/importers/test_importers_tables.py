from __future__ import annotations

import re
from pathlib import Path

import pytest
from reference_pages.import_tables import TABLES, import_table

from towtank.workload.importers import IMPORT_FORMATS
from towtank.workload.importers.accounting import Fate, Ledger, UnaccountedError, key_table
from towtank.workload.importers.draft import ImportNotes


def test_every_format_has_a_table() -> None:
    assert set(TABLES) == set(IMPORT_FORMATS)


def test_the_reference_has_the_tables_of_the_importers() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "imports.md").read_text("utf-8")
    shown = dict(re.findall(r"<!-- imports of (\w+) -->\n(.*?)<!-- end -->", page, re.DOTALL))
    assert shown == {form: import_table(form) for form in IMPORT_FORMATS}


@pytest.mark.parametrize("form", sorted(TABLES))
def test_what_is_not_carried_says_why(form: str) -> None:
    entries = [(kind, name, key) for kind, keys in TABLES[form].items() for name, key in keys.items()]
    assert [(kind, name) for kind, name, key in entries if key.fate is not Fate.CARRIED and not key.why] == []
    text = import_table(form)
    assert all(f"`{name}`" in text for _, name, _ in entries)


def test_an_oversight_of_an_importer_is_an_exception_in_tests_and_a_note_for_users() -> None:
    table = key_table("kind\n    carried key")
    with pytest.raises(UnaccountedError, match="3:4: kind: key = 'x' is listed as carried, but was not read"):
        Ledger(ImportNotes("f"), table, strict=True).settle("kind", "key", "x", (3, 4), read=False)
    notes = ImportNotes("f")
    Ledger(notes, table).settle("kind", "key", "x", (3, 4), read=False)
    Ledger(notes, table).settle("kind", "other", "y", (5, 1))
    assert [(note.places, note.what, note.why) for note in notes.sorted()] == [
        ([(3, 4)], "kind: key = 'x'", "was not imported: this is a fault of the importer"),
        ([(5, 1)], "kind: other = 'y'", "was not imported: the importer does not know this key"),
    ]
