"""`towtank model cache`: computes miss ratios of caches from a trace or from Zipf's law."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from towtank.cli.options import OptionCheck

if TYPE_CHECKING:
    from towtank.model import CachedIndex, CacheDisk, CacheRequest

_Quantity = TypeVar("_Quantity", int, float)
_COUNT_AT_MOST = 2**53
_LIMITS_AT_MOST = 10_000
_SAMPLES_AT_LEAST = 8


def command(
    trace: Annotated[
        str | None,
        typer.Argument(
            metavar="[TRACE]",
            help=(
                "Trace of cache references: CSV file with columns key[,bytes][,time], an access log, or - for "
                "standard input."
            ),
        ),
    ] = None,
    *,
    entries: Annotated[
        str | None, typer.Option(help="Cache sizes to evaluate, in entries, for example 4000,20000.")
    ] = None,
    bytes_: Annotated[
        str | None, typer.Option("--bytes", help="Cache sizes to evaluate, in bytes, for example '1 GiB,8 GiB'.")
    ] = None,
    metadata: Annotated[
        str | None, typer.Option(help="Memory overhead per entry, counted against --bytes, for example '3 KiB'.")
    ] = None,
    shards: Annotated[
        str | None, typer.Option(help="Share of the keys to sample, for example '1 %'; default: all keys.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Number of keys to sample, for example 8192; keeps the memory use constant.")
    ] = None,
    warm_up: Annotated[
        int, typer.Option(help="Number of references at the start of the trace that only fill the caches.")
    ] = 0,
    disk_time: Annotated[str | None, typer.Option(help="Time of a disk read after a miss, for example '5 ms'.")] = None,
    reads_per_transaction: Annotated[float | None, typer.Option(help="Number of references per transaction.")] = None,
    zipf: Annotated[
        str | None,
        typer.Option(metavar="KEYS:SKEW", help="Evaluate Zipf's law instead of a trace, for example 1000000:0.9."),
    ] = None,
    index: Annotated[
        str | None, typer.Option(help="Evaluate an index of this size on disk instead of a trace.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Memory of the host that has the index; only with --index.")
    ] = None,
    heap: Annotated[
        str | None, typer.Option(help="Memory that programs on the host use; only with --index. Default: 0.")
    ] = None,
    page: Annotated[str | None, typer.Option(help="Page size of the index; only with --index. Default: 4 KiB.")] = None,
    skew: Annotated[
        float | None,
        typer.Option(help="Exponent of Zipf's law for accesses to pages; only with --index. Default: several values."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the miss ratios as JSON.")] = False,
) -> None:
    """Compute the miss ratios of a cache of various sizes, in entries or bytes, and the disk load that the misses
    cause.
    """
    from towtank.model import CacheRequest, index_document, trace_document, zipf_document  # noqa: PLC0415

    check = OptionCheck()
    _one_source(check, trace, zipf, index)
    disk = _disk(check, disk_time, reads_per_transaction)
    if index is not None:
        parts = {"--memory": memory, "--heap": heap, "--page": page}
        for name, text in {"--entries": entries, "--bytes": bytes_, "--metadata": metadata}.items():
            if text is not None:
                check.fault(name, f"must not be given with --index, got {text!r}")
        wanted = _index(check, index, parts, skew)
        check.refuse_faults()
        _show(index_document(wanted, disk), json=json)
        return
    for option, value in {"--memory": memory, "--heap": heap, "--page": page, "--skew": skew}.items():
        if value is not None:
            check.fault(option, f"must be given with --index only, got {value!r}")
    request = CacheRequest(
        entries=_entries(check, entries),
        bytes=_sizes(check, "--bytes", bytes_),
        metadata_bytes=_size(check, "--metadata", metadata),
        rate=_rate(check, shards),
        samples=_count(check, "--samples", samples, _SAMPLES_AT_LEAST),
        warm_up=_count(check, "--warm-up", warm_up, 0) or 0,
        disk=disk,
    )
    pairs = max(len(request.entries), 1) * max(len(request.bytes), 1)
    if pairs > _LIMITS_AT_MOST:
        check.fault("--entries", f"must make at most {_LIMITS_AT_MOST} pairs with --bytes, got {pairs}")
    if zipf is not None:
        law = _law(check, zipf, request)
        check.refuse_faults()
        _show(zipf_document(*law, request), json=json)
        return
    check.refuse_faults()
    assert trace is not None
    _show(trace_document(trace, request), json=json)


def _show(document: Mapping[str, object], *, json: bool) -> None:
    from towtank.cli.cache_table import cache_lines  # noqa: PLC0415
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.model import CacheAnswer  # noqa: PLC0415

    if json:
        print_json(document)
        return
    for line in cache_lines(CacheAnswer.model_validate(document)):
        printer().print(line, markup=False) if isinstance(line, str) else printer().print(line)


def _one_source(check: OptionCheck, trace: str | None, zipf: str | None, index: str | None) -> None:
    named = {"TRACE": trace, "--zipf": zipf, "--index": index}
    got = [name for name, value in named.items() if value is not None]
    if len(got) != 1:
        check.fault("TRACE", f"must be given, or --zipf, or --index: one of them, got {', '.join(got) or 'none'}")


def _disk(check: OptionCheck, time: str | None, reads: float | None) -> CacheDisk | None:
    from towtank.model import CacheDisk  # noqa: PLC0415

    if time is None and reads is None:
        return None
    if reads is not None and not 0 < reads < float("inf"):
        check.fault("--reads-per-transaction", f"must be a number above 0, got {reads} instead")
    return CacheDisk(1.0 if reads is None else reads, None if time is None else check.positive("--disk-time", time))


def _read(
    check: OptionCheck, option: str, read: Callable[[object], _Quantity], text: str, otherwise: _Quantity
) -> _Quantity:
    try:
        return read(text)
    except ValueError as error:
        check.fault(option, str(error))
        return otherwise


def _size(check: OptionCheck, option: str, text: str | None, least: int = 0) -> int:
    from towtank import units  # noqa: PLC0415

    if text is None:
        return least
    before = check.count
    size = _read(check, option, units.size, text, least)
    if not least <= size <= _COUNT_AT_MOST and check.count == before:
        check.fault(option, f"must be from {least} B to 2^53 B, got {text!r} instead")
    return size


def _sizes(check: OptionCheck, option: str, text: str | None) -> tuple[int, ...]:
    return tuple(_size(check, option, part.strip(), 1) for part in text.split(",")) if text is not None else ()


def _entries(check: OptionCheck, text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    parts = [part.strip() for part in text.split(",")]
    if all(part.isdecimal() and part.isascii() and 1 <= int(part[:17]) <= _COUNT_AT_MOST for part in parts):
        return tuple(map(int, parts))
    check.fault("--entries", f"must be whole numbers above 0, separated by commas, got {text!r} instead")
    return ()


def _count(check: OptionCheck, option: str, value: int | None, least: int) -> int | None:
    if value is not None and not least <= value <= _COUNT_AT_MOST:
        check.fault(option, f"must be a whole number from {least} to 2^53, got {value} instead")
    return value


def _rate(check: OptionCheck, text: str | None) -> float | None:
    """Read a sampling rate above zero, written as `1 %` or `0.01`."""
    from towtank import units  # noqa: PLC0415

    if text is None:
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = _read(check, "--shards", units.share, text, 1.0)
    if not 0 < rate <= 1:
        check.fault("--shards", f"must be above 0 %, at most 100 %, got {text!r} instead")
    return rate


def _law(check: OptionCheck, text: str, request: CacheRequest) -> tuple[int, float]:
    """Read the number of keys and the exponent of Zipf's law; report options that need a trace."""
    others = {"--bytes": request.bytes, "--metadata": request.metadata_bytes, "--shards": request.rate}
    for option, value in {**others, "--samples": request.samples, "--warm-up": request.warm_up}.items():
        if value:
            check.fault(option, "must not be given with --zipf, which has no trace")
    if not request.entries:
        check.fault("--entries", "must be given with --zipf, got none")
    keys, _, skew = text.partition(":")
    try:
        law = int(keys), float(skew)
    except ValueError:
        law = 0, 0.0
    if not (1 <= law[0] <= _COUNT_AT_MOST and 0 <= law[1] <= 100):
        check.fault("--zipf", f"must be KEYS:SKEW, as 1000000:0.9, with a skew from 0 to 100, got {text!r} instead")
    return law


def _index(check: OptionCheck, text: str, parts: dict[str, str | None], skew: float | None) -> CachedIndex:
    from towtank.model import CachedIndex  # noqa: PLC0415

    if parts["--memory"] is None:
        check.fault("--memory", "must be given with --index, got none")
    if skew is not None and not 0 <= skew <= 100:
        check.fault("--skew", f"must be a number from 0 to 100, got {skew} instead")
    page = 4096 if parts["--page"] is None else _size(check, "--page", parts["--page"], 1)
    index = CachedIndex(
        index_bytes=_size(check, "--index", text, 1),
        memory_bytes=_size(check, "--memory", parts["--memory"], 1),
        heap_bytes=_size(check, "--heap", parts["--heap"]),
        page_bytes=page,
        skew=skew,
    )
    if parts["--memory"] is not None and check.count == 0 and index.room_bytes < page:
        check.fault("--heap", f"must leave at least one page of {page} B of --memory, got {parts['--heap']!r} instead")
    return index
