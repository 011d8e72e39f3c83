"""Sets longer timeouts for scrapers, because servers respond slowly on a busy machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from towtank.observe import command_socket, glusterfs, mariadb, openldap, page, postgresql, redis

_PATIENCE_S = 30


@contextmanager
def patient_scrapers() -> Iterator[None]:
    """Set the timeout of all scrapers to 30 s until the end of the block.

    During a real run, the timeout is shorter, because a slow scrape must not delay the next scrape.
    """
    with pytest.MonkeyPatch.context() as patch:
        for module in (command_socket, page):
            patch.setattr(module, "TIMEOUT_S", _PATIENCE_S)
        for module in (glusterfs, mariadb, openldap, redis):
            patch.setattr(module, "_TIMEOUT_S", _PATIENCE_S)
        patch.setattr(postgresql, "_CONNECT_TIMEOUT_S", _PATIENCE_S)
        patch.setattr(postgresql, "_STATEMENT_TIMEOUT_MS", 1000 * _PATIENCE_S)
        yield
