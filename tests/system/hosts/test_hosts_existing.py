"""A host of the provider `existing` is observed and receives load, but Towtank starts nothing on it."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from towtank.errors import TargetError
from towtank.system.host_model import ExistingHost as Part
from towtank.system.hosts.existing import ExistingHost
from towtank.system.hosts.host import HostSettings
from towtank.system.process import ProcessSpec

pytestmark = pytest.mark.waits

REFUSED: dict[str, tuple[Any, ...]] = {
    "process": (ProcessSpec("web", ["true"]), Path("log")),
    "execute": (["true"],),
    "outside": ("/etc",),
    "make_folder": ("/srv",),
    "make_private_folder": ("/srv",),
    "write": ("/srv/file", ""),
    "read": ("/srv/file",),
    "put": (Path("file"), "/srv/file"),
    "get": ("/srv/file", Path("file")),
    "remove": ("/srv",),
    "engine": (),
    "python": (),
    "disk": ("data",),
    "free_ports": (),
    "require_free": (80, "web"),
}
ALLOWED = {"capabilities", "lacks", "prepare", "confine", "facts", "watching", "ended", "tear_down"}


def host(**keys: Any) -> ExistingHost:
    return ExistingHost("production", Part.model_validate({"provider": "existing", **keys}))


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses_whatever_would_change_it(name: str) -> None:
    with pytest.raises(TargetError, match="host production is of provider existing"):
        getattr(host(), name)(*REFUSED[name])


def test_every_method_is_either_refused_or_harmless() -> None:
    methods = {name for name, _ in inspect.getmembers(ExistingHost, inspect.isfunction) if not name.startswith("_")}
    assert methods == set(REFUSED) | ALLOWED
    for attribute in ("address", "temporary"):
        with pytest.raises(TargetError):
            getattr(host(), attribute)


def test_it_is_observed_where_it_has_a_page_of_metrics(tmp_path: Path) -> None:
    made = host(metrics="http://127.0.0.1:9100/metrics")
    made.prepare(HostSettings(tmp_path))
    made.confine()
    (scraper,) = made.watching().scrapers
    assert (scraper.service, scraper.url) == ("host-production", "http://127.0.0.1:9100/metrics")
    scraper.close()
    assert host().watching().scrapers == []
    assert made.facts() == {"provider": "existing", "metrics": "http://127.0.0.1:9100/metrics"}
    assert not made.capabilities().starts
    made.tear_down()
