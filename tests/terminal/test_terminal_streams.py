"""Commands do not crash if their output stream fails: it lacks characters, the pipe is closed, or the disk is full."""

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from towtank.terminal.streams import FALLBACK, plain

pytestmark = pytest.mark.waits

PROGRAM = """
import sys
from towtank.terminal.streams import any_output
with any_output() as output:
    for number in range(3000):
        print("\\u00b5s \\u2265 \\u00d7 \\u2013 \\u2212 \\u00e9 \\u8bed \\udcff", number)
        print("progress", number, file=sys.stderr)
sys.exit(5 if output.lost is None else output.lost.errno)
"""


def write(
    *, out: int, err: int = subprocess.DEVNULL, encoding: str = "utf-8", program: str = PROGRAM
) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    return subprocess.Popen([sys.executable, "-c", program], stdout=out, stderr=err, env=environment)


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("ascii", "us >= x - - e \\u8bed \\udcff 0"),
        ("latin-1", "µs >= × - - é \\u8bed \\udcff 0"),
        ("utf-8", "µs ≥ × – − é 语 \\udcff 0"),
    ],
)
def test_a_character_that_the_encoding_lacks_is_spelled_in_another_way(encoding: str, expected: str) -> None:
    process = write(out=subprocess.PIPE, encoding=encoding)
    text, _ = process.communicate(timeout=240)
    assert text.decode(encoding).splitlines()[0] == expected
    assert process.returncode == 5


@pytest.mark.parametrize("both", [False, True])
def test_a_reader_that_has_read_enough_changes_nothing(both: bool) -> None:
    read, written = os.pipe()
    process = write(out=written, err=written if both else subprocess.DEVNULL)
    os.close(written)
    assert os.read(read, 1)
    os.close(read)
    assert process.wait(60) == 5


def test_a_descriptor_that_does_not_wait_loses_nothing() -> None:
    read, written = os.pipe()
    os.set_blocking(written, False)
    process = write(out=written)
    # The program writes more than a pipe can hold, and the test begins to read only when the pipe is full.
    poll = select.poll()
    poll.register(written, select.POLLOUT)
    while poll.poll(0):
        assert process.poll() is None
        time.sleep(0.01)
    os.close(written)
    parts = []
    while part := os.read(read, 65536):
        parts.append(part)
    os.close(read)
    assert process.wait(60) == 5
    assert [line.rsplit(b" ", 1)[1] for line in b"".join(parts).splitlines()] == [b"%d" % k for k in range(3000)]


def test_a_full_disk_behind_the_output_is_reported() -> None:
    with Path("/dev/full").open("wb") as full:
        process = write(out=full.fileno())
        assert process.wait(60) == 28


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_changes_nothing(closed: str) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, check=False, timeout=240, capture_output=True)
    assert done.returncode == 5


def test_every_character_of_texts_and_tables_has_a_spelling() -> None:
    assert [plain(character) for character in "µ–≥×┃"] == ["u", "-", ">=", "x", "|"]
    assert "─┼ 5 µs ²".encode("ascii", FALLBACK).isascii()


def test_the_error_handler_does_not_decode() -> None:
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", FALLBACK)
