"""Counters of a GlusterFS 10.3 mount, read from the files below `.meta`. A mount that blocks must not delay other
scrapers.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from host_support import until

from towtank.observe.glusterfs import GlusterfsScraper, parse_asked, parse_sent
from towtank.observe.scraper import ScrapeError

pytestmark = pytest.mark.waits

ASKED = """
cumulative.data_read = 8192000
cumulative.data_written = 4096000
incremental.data_read = 8192000
incremental.data_written = 4096000
asked.cumulative.STAT = 0,0,0.000,0.000,0.000
asked.incremental.STAT = 0,0,0.000,0.000,0.000
asked.cumulative.OPEN = 2000,227441748,88490.000,3615670.000,113720.874
asked.incremental.OPEN = 2000,227441748,88490.000,3615670.000,113720.874
asked.cumulative.FORGET = 2503,0,0.000,0.000,0.000
"""
PRIVATE = """[io-cache.priv]
page_size = 131072
cache_size = 67108864
cache_used = 66192344
inode_count = 499
cache_timeout = 60
"""
ATTRIBUTES = """[performance/md-cache.attributes]
stat_hit_count = 2001
stat_miss_count = 4670
xattr_hit_count = 0
"""
SENT = """
cumulative.data_read = 147456
store-1-0.cumulative.OPEN = 18,3489560,139910.000,286820.000,193864.444
store-1-0.incremental.OPEN = 18,3489560,139910.000,286820.000,193864.444
store-1-0.cumulative.READ = 36,3558510,73030.000,190610.000,98847.500
store-1-0.cumulative.WRITE = 0,0,0.000,0.000,0.000
"""


def test_calls_bytes_and_times_are_reported() -> None:
    assert parse_asked(ASKED) == {
        "glusterfs_read_bytes_total": 8192000,
        "glusterfs_written_bytes_total": 4096000,
        'glusterfs_calls_total{call="open"}': 2000,
        'glusterfs_call_seconds_total{call="open"}': 0.227441748,
        'glusterfs_calls_total{call="forget"}': 2503,
        'glusterfs_call_seconds_total{call="forget"}': 0,
    }


def test_calls_to_a_server_are_those_of_all_its_parts() -> None:
    values = parse_sent("store-1", [SENT, SENT.replace("-0.cumul", "-1.cumul"), ""])
    assert values['glusterfs_server_calls_total{server="store-1",call="read"}'] == 72
    assert values['glusterfs_server_call_seconds_total{server="store-1",call="open"}'] == pytest.approx(0.00697912)


def test_what_is_no_such_text_is_a_failure() -> None:
    with pytest.raises(ScrapeError, match=r"must report cumulative\.data_read, got 'nothing' instead"):
        parse_asked("nothing")


def recorded(folder: Path) -> Path:
    """Write recorded `.meta` files of a GlusterFS mount into a folder; return the folder."""
    texts = {
        "asked/private": ASKED,
        "cache/private": PRIVATE,
        "attributes/private": ATTRIBUTES,
        "store-1-0/private": SENT,
    }
    for name, text in texts.items():
        path = folder / ".meta/graphs/active" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_all_files_are_read_again_and_again(tmp_path: Path) -> None:
    scraper = GlusterfsScraper("area", recorded(tmp_path), ["store-1-0"])
    first = scraper.scrape()
    assert first["glusterfs_cache_bytes"] == 66192344
    assert first["glusterfs_cache_files"] == 499
    assert first["glusterfs_attribute_misses_total"] == 4670
    assert first['glusterfs_server_calls_total{server="store-1",call="open"}'] == 18
    (tmp_path / ".meta/graphs/active/asked/private").write_text(ASKED.replace("8192000", "9000000"))
    assert scraper.scrape()["glusterfs_read_bytes_total"] == 9000000
    scraper.close()


def readers(path: Path) -> list[str]:
    """Return the command lines of all processes with the given path in their arguments."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    return [line for line in lines if str(path) in line]


def test_a_mount_that_does_not_answer_is_a_failure_and_read_again_later(tmp_path: Path) -> None:
    reported = recorded(tmp_path) / ".meta/graphs/active/asked/private"
    reported.unlink()
    os.mkfifo(reported)
    scraper = GlusterfsScraper("area", tmp_path, ["store-1-0"])
    with pytest.raises(ScrapeError, match="the mount does not respond: no answer within 1 s"):
        scraper.scrape()
    until(lambda: not readers(reported))
    reported.unlink()
    reported.write_text(ASKED)
    assert scraper.scrape()["glusterfs_written_bytes_total"] == 4096000
    scraper.close()
    nothing = GlusterfsScraper("area", tmp_path / "nothing", [])
    with pytest.raises(ScrapeError, match="must report"):
        nothing.scrape()
    nothing.close()
