"""Environment variables that the conductor passes on to the processes of a system."""

from __future__ import annotations

import pytest

from towtank.system.environment import passed_on

pytestmark = pytest.mark.waits


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LOCPATH", "TZ"),
        *("LD_LIBRARY_PATH", "JAVA_HOME", "PYTHONPATH", "TOWTANK_RUN", "TOWTANK_HOSTS"),
    ],
)
def test_services_get_what_programs_need(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "as it is")
    assert passed_on()[name] == "as it is"


@pytest.mark.parametrize(
    "name", ["AWS_SECRET_ACCESS_KEY", "TOWTANK_TOKEN", "MY_PATH", "PATH_TO_KEYS", "lang", "PYTHON"]
)
def test_services_get_nothing_else(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "secret")
    assert "secret" not in passed_on().values()
