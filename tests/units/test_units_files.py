import os
from pathlib import Path

import pytest

from towtank.files import engine_path


def test_a_path_is_what_its_bytes_are_in_utf_8_in_every_locale() -> None:
    named = os.fsdecode("/tmp/größe/é.csv".encode())
    assert engine_path(Path(named)) == "/tmp/größe/é.csv"


def test_bytes_of_a_name_are_read_as_utf_8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a Latin-1 locale, Python decodes the two bytes of `ö` as two characters. The engine must still get `ö`."""
    monkeypatch.setattr(os, "fsencode", lambda path: str(path).encode("latin-1"))
    assert engine_path(Path("/tmp/" + "größe".encode().decode("latin-1"))) == "/tmp/größe"
