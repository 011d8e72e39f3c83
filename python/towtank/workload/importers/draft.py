"""Defines drafts, which importers produce: parts of a workload file, addresses of targets, and notes on lost
constructs.

Steps are mappings in the form of the workload file, built by `request`, `page` and `think`. Texts of an imported file
pass through `literal`: a `${` in them must not become a placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote, urlsplit

from towtank.secrets import redacted_text
from towtank.units import exact_duration
from towtank.workload.importers.encoded import QUERY_SAFE, pairs_of
from towtank.workload.importers.expected import Expected

Step = dict[str, Any]
Pause = str | Mapping[str, str | Mapping[str, str]]
"""Pause of a think step in the form of the workload file: a length, or a distribution with its parameters."""

# Largest number of positions that a note lists. Without this limit, a log of a million lines could give a million
# positions. [1]
PLACES_AT_MOST = 100
# Largest number of iterations of a loop that the workload format allows. [1]
ROUNDS_AT_MOST = 1_000_000
# HTTP methods that a workload supports.
METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "HEAD", "PATCH"})
# Suffixes of files with the same content for all users: scripts, style sheets, pictures, fonts.
ASSET_ENDINGS = frozenset(
    {"avif", "bmp", "css", "eot", "gif", "ico", "jpeg", "jpg", "js", "map", "mjs", "mp3", "mp4", "otf", "png", "svg"}
    | {"ttf", "webm", "webp", "woff", "woff2"}
)
# Names that have a special meaning in templates and therefore cannot be names of variables.
_RESERVED = frozenset({"uuid", "iteration", "user", "now", "random", "system", "parameters"})
# Headers that concern only the connection or that the engine sets; importers do not convert them.
TRANSPORT_HEADERS = frozenset(
    {"host", "connection", "content-length", "keep-alive", "proxy-connection", "transfer-encoding", "te"}
    | {"upgrade-insecure-requests", "priority", "expect"}
)


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import that the user chooses.

    Attributes
    ----------
    hosts : tuple of str
        Hosts whose requests are kept; if empty, the importer chooses the main host.
    folder : Path
        Folder of the workload file, to which file names are relative.
    source : str
        File name in notes; if empty, the name of the imported file.
    host_option : str
        Command-line option that adds a host to `hosts`, as named in notes; empty for a command without such an option.
    keep_passwords : bool
        True if recorded passwords are stored in workload parameters.
    strict : bool
        True if a key that the importer overlooks raises an exception; otherwise the key becomes a note.
    only_reads : bool
        True if the import of an interface description keeps only GET requests with examples for all required values.
    """

    hosts: tuple[str, ...] = ()
    folder: Path = Path()
    source: str = ""
    host_option: str = "--host"
    keep_passwords: bool = False
    strict: bool = False
    only_reads: bool = False


@dataclass
class Note:
    """Construct of an imported file that could not be converted, with its positions.

    Attributes
    ----------
    what : str
        Construct, as named in the imported file.
    why : str
        Reason why the construct is missing from the workload, or its replacement.
    places : list of (int, int)
        First `PLACES_AT_MOST` positions: line and column from 1; column 0 if only the line is known.
    times : int
        Number of all positions.
    """

    what: str
    why: str
    places: list[tuple[int, int]] = field(default_factory=list)
    times: int = 0


class ImportNotes:
    """Notes of an import. Equal constructs with the same reason are combined in one note."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._notes: dict[tuple[str, str], Note] = {}

    def add(self, place: tuple[int, int], what: str, why: str) -> None:
        """Add a note for a position in the imported file. Secrets in addresses are hidden, because notes are
        printed.
        """
        what, why = redacted_text(what), redacted_text(why)
        note = self._notes.setdefault((what, why), Note(what, why))
        if place in note.places:
            return
        note.times += 1
        if len(note.places) < PLACES_AT_MOST:
            note.places.append(place)

    def sorted(self) -> list[Note]:
        """Return all notes, sorted by first position."""
        return sorted(self._notes.values(), key=lambda note: (min(note.places), note.what))


@dataclass
class DraftPool:
    """Data pool of a draft: a CSV file relative to the folder of the workload, or columns with their rows."""

    csv: str | None = None
    columns: list[str] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    weight: str | None = None
    order: str | None = None

    def document(self) -> dict[str, object]:
        """Return the pool in the form of the workload file."""
        return {key: value for key, value in vars(self).items() if value}


@dataclass
class DraftGroup:
    """User group of a draft, whose users repeat transactions of a mix with a think time or, if given, a pacing."""

    mix: Mapping[str, float]
    think: Pause = "0 s"
    pacing: str | None = None
    once: list[str] = field(default_factory=list)
    cookies: Step = field(default_factory=dict)
    share: str | None = None

    def document(self) -> dict[str, object]:
        """Return the group in the form of the workload file."""
        loop = {**({"pacing": self.pacing} if self.pacing else {"think": self.think}), "mix": self.mix}
        keys = {"share": self.share, "once": self.once, "loop": loop, "cookies": self.cookies}
        return {key: value for key, value in keys.items() if value}


@dataclass
class ImportDraft:
    """Result of reading an imported file, from which the workload file is written.

    Attributes
    ----------
    source : str
        Path of the imported file, as given by the user.
    form : str
        Format of the imported file.
    targets : dict of str to str
        Address of each target as in the file, such as `https://shop.example:8443`.
    findings : dict
        Further results for studies and reports: load, objectives, fits.
    origin : str
        First line of the workload file; if empty, a line that names the file and its format.
    """

    source: str
    form: str
    name: str
    title: str = ""
    targets: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str | int | float] = field(default_factory=dict)
    data: dict[str, DraftPool] = field(default_factory=dict)
    defaults: dict[str, object] = field(default_factory=dict)
    transactions: dict[str, list[Step]] = field(default_factory=dict)
    groups: dict[str, DraftGroup] = field(default_factory=dict)
    findings: dict[str, Any] = field(default_factory=dict)
    origin: str = ""
    notes: ImportNotes = field(init=False)

    def __post_init__(self) -> None:
        self.notes = ImportNotes(self.source)

    def target(self, address: str, like: str = "") -> str:
        """Return the name of the target for an address.

        The name of a new target is made from `like`, or from the host if `like` is empty.
        """
        for name, known in self.targets.items():
            if known == address:
                return name
        host = like or urlsplit(address).hostname or "target"
        name = unique(identifier(host, "target"), self.targets)
        self.targets[name] = address
        return name


def literal(text: str) -> str:
    """Return a template whose value is exactly the given text.

    Examples
    --------
    >>> literal("costs ${price}")
    'costs $${price}'
    """
    # Half of a surrogate pair cannot be encoded in UTF-8 and becomes a question mark.
    return text.encode("utf-8", "replace").decode("utf-8").replace("${", "$${")


def identifier(text: str, fallback: str) -> str:
    """Convert text to a name of lower-case letters, digits and underscores.

    Examples
    --------
    >>> identifier("Log in / out", "page"), identifier("42", "page")
    ('log_in_out', 'page_42')
    """
    # Words in camel case are separated, so that `getPetById` becomes `get_pet_by_id`.
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    name = re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")[:60].strip("_")
    if not name:
        return fallback
    name = name if name[0].isalpha() else f"{fallback}_{name}"
    return f"{name}_value" if name in _RESERVED else name


def unique(name: str, taken: Iterable[str]) -> str:
    """Return a name that is not taken yet: if the given name is taken, the first free number is appended."""
    known = set(taken)
    if name not in known:
        return name
    number = next(number for number in range(2, len(known) + 3) if f"{name}_{number}" not in known)
    return f"{name}_{number}"


def url_address(url: str) -> str:
    """Return the scheme, host and port of a URL.

    Raises
    ------
    ValueError
        If the text is not an http or https URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"must be an http or https URL, got {url[:80]!r} instead")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port  # reading the port raises ValueError if the port is invalid
    return f"{parts.scheme}://{host}" + (f":{port}" if port is not None else "")


def user_info(url: str) -> dict[str, str] | None:
    """Return the user and the password in a URL as request keys; None if the URL has no login.

    Examples
    --------
    >>> user_info("http://ann:s%40@shop.example/")
    {'user': 'ann', 'password': 's@'}
    """
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return None
    return {"user": literal(unquote(parts.username or "")), "password": literal(unquote(parts.password or ""))}


def path_and_query(url: str) -> tuple[str, list[tuple[str, str]] | None]:
    """Return the path of a URL, and its query as pairs if a mapping can represent it.

    Returns
    -------
    path : str
        Path, including a query that a mapping cannot represent: repeated keys, keys without `=`, text that decoding
        would change, or an empty query after `?`.
    query : list of (str, str) or None
        Decoded names and values; None if the query is part of the path.
    """
    parts = urlsplit(url)
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._{}[]")
    path = path if path.startswith("/") else f"/{path}"
    if "?" not in url.partition("#")[0]:
        return path, []
    pairs = pairs_of(parts.query, in_query=True)
    return (path, pairs) if pairs is not None else (f"{path}?{quote(parts.query, safe=QUERY_SAFE)}", None)


@dataclass(frozen=True)
class Body:
    """Body of a request: its key in a workload file, and its content there."""

    key: Literal["json", "form", "body", "multipart", "file"]
    content: Any


def request(method: str, path: str, **keys: Any) -> Step:
    """Return a request step. Keys whose value is None or empty are left out, except a JSON body. A `Body` gives its own
    key, a check is given as `Expected`.
    """

    def needed(key: str, value: Any) -> bool:
        return value is not None and (key == "json" or not isinstance(value, dict | list) or bool(value))

    given = {}
    for name, value in keys.items():
        key, content = (value.key, value.content) if isinstance(value, Body) else (name, value)
        content = content.keys if isinstance(content, Expected) else content
        if needed(key, content):
            given[key] = content
    return {method.lower(): path, **given}


def page(name: str, steps: list[Step]) -> Step:
    return {"page": name, "steps": steps}


def steps_of(item: Step) -> list[Step]:
    """Return the steps inside a page. Any other step is returned as the only element of a list."""
    match item:
        case {"page": _, "steps": list(steps)}:
            return steps
    return [item]


def think(pause: Pause) -> Step:
    return {"think": pause}


def seconds(value: float) -> str:
    """Return a duration in the form of workload files, rounded to six significant digits.

    Examples
    --------
    >>> seconds(0.0025), seconds(20 / 7)
    ('2.5 ms', '2.85714 s')
    """
    return exact_duration(rounded(value))


def rounded(value: float) -> float:
    """Round a number to six significant digits."""
    return float(f"{value:.6g}")


def equal_weights(names: Iterable[str]) -> dict[str, float]:
    """Return mix weights that are equal for all names."""
    return weights(dict.fromkeys(names, 1.0))


def weights(counts: dict[str, float]) -> dict[str, float]:
    """Return weights in percent with four decimals that add up to exactly 100.

    The largest weight is adjusted by the sum of the rounding errors.

    Examples
    --------
    >>> weights({"a": 1, "b": 1, "c": 1})
    {'a': 33.3334, 'b': 33.3333, 'c': 33.3333}
    """
    total = sum(counts.values())
    rounded = {name: round(100 * count / total, 4) for name, count in counts.items()}
    most = max(counts, key=lambda name: counts[name])
    rounded[most] = round(rounded[most] + 100 - sum(rounded.values()), 4)
    return {name: int(weight) if weight == int(weight) else weight for name, weight in rounded.items()}


def common_headers(steps: list[Step]) -> dict[str, str]:
    """Remove the headers that all requests send with the same value, and return these headers.

    Content-Type stays in the requests: as a default header, it would not replace the type that a body implies.
    """
    requests = [step for step in steps if "headers" in step or method_of(step)]
    if len(requests) < 2:
        return {}
    first = requests[0].get("headers", {})
    common = {
        name: value
        for name, value in first.items()
        if name.lower() != "content-type" and "${" not in value
        if all(step.get("headers", {}).get(name) == value for step in requests)
    }
    for step in requests:
        step["headers"] = {k: v for k, v in step.get("headers", {}).items() if k not in common}
        if not step["headers"]:
            del step["headers"]
    return common


def method_of(step: Step) -> str | None:
    """Return the key of a request's method, such as `get`; None if the step is not a request."""
    return next((key for key in step if key.upper() in METHODS), None)


def requests_in(steps: list[Step]) -> list[Step]:
    """Return the requests in steps, including requests in nested steps."""
    found: list[Step] = []
    for step in steps:
        found += [step] if method_of(step) else []
        found += requests_in([each for key in ("steps", "then", "else") for each in step.get(key, [])])
    return found
