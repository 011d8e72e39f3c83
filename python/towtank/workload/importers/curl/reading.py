"""Reads curl command lines, written by hand or copied from browsers."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from towtank.errors import Fault, StudyError
from towtank.files import is_regular_file
from towtank.workload.importers.accounting import Fate, Key
from towtank.workload.importers.bodies import body_of, changed_leaves, parts_of
from towtank.workload.importers.curl.data import has_line_ends, is_file
from towtank.workload.importers.curl.forms import Content, contents_of
from towtank.workload.importers.curl.table import OPTIONS, SHORT, VALUED
from towtank.workload.importers.curl.urls import URLS_AT_MOST, resolved, separator, urls_of
from towtank.workload.importers.curl.variables import Variables
from towtank.workload.importers.curl.words import Splitter, Word
from towtank.workload.importers.draft import (
    METHODS,
    Body,
    DraftGroup,
    ImportDraft,
    ImportOptions,
    Step,
    common_headers,
    identifier,
    literal,
    path_and_query,
    request,
    seconds,
    url_address,
    user_info,
)
from towtank.workload.importers.headers import carry
from towtank.workload.importers.textfile import read_text, relative_to_workload

# Largest size of a file with command lines, which are short because they are written or copied by hand. [byte]
_BYTES_AT_MOST = 10_000_000
_FORM = "application/x-www-form-urlencoded"

_DATA = frozenset({"data", "data-raw", "data-ascii", "data-binary", "data-urlencode", "json"})


@dataclass
class Call:
    """curl command with the options that have been read so far."""

    place: tuple[int, int]
    urls: list[Word] = field(default_factory=list)
    more: list[Word] = field(default_factory=list)
    method: str | None = None
    headers: list[tuple[str, str, tuple[int, int]]] = field(default_factory=list)
    data: list[tuple[str, Word]] = field(default_factory=list)
    form: list[tuple[str, Word]] = field(default_factory=list)
    user: Word | None = None
    upload: Word | None = None
    range: Word | None = None
    timeout: float | None = None
    connect: float | None = None
    as_query: bool = False
    head: bool = False
    removed: set[str] = field(default_factory=set)
    switches: set[str] = field(default_factory=set)


def read(path: Path, options: ImportOptions) -> ImportDraft:
    """Read curl command lines as the steps of one transaction."""
    splitter = Splitter(str(path), read_text(path, at_most=_BYTES_AT_MOST))
    draft = ImportDraft(str(path), "curl", identifier(path.stem, "commands"), f"Command lines of {path.name}")
    reader = _Reader(draft, options)
    commands = splitter.split()
    for place in splitter.substitutions:
        draft.notes.add(
            place, "command inside the command line", "is not run but kept as text: replace it by its value"
        )
    for command in filter(None, splitter.otherwise):
        why = "left out: it runs only if the previous command fails"
        draft.notes.add((command[0].line, command[0].column), f"|| {command[0].text[:40]}", why)
    steps = _steps(reader, commands, splitter.chained)
    if reader.faults and not steps:
        raise StudyError(reader.faults)
    for fault in reader.faults:
        draft.notes.add((fault.line, fault.column), fault.where, f"left out: {fault.message}")
    if not steps:
        raise StudyError.at(path, "must have command lines that begin with curl, got none", line=1, column=1)
    if len(draft.targets) == 1:
        for step in steps:
            del step["target"]
    if len(steps) > 1:
        for step in steps:
            step["on_failure"] = "go_on"
    common = common_headers(steps)
    if common:
        draft.defaults["headers"] = common
    draft.transactions = {"commands": steps}
    draft.groups = {"users": DraftGroup({"commands": 100}, "1 s")}
    reader.connect()
    if reader.endless:
        why = "curl waits without limit if a line has no --max-time; users of the workload wait 30 s for a response"
        draft.notes.add((1, 0), "timeouts", why)
    draft.notes.add((1, 0), "think time", "command lines contain none: users pause for 1 s after every round")
    return draft


def _steps(reader: _Reader, commands: list[list[Word]], chained: list[list[Word]]) -> list[Step]:
    """Return the steps of all commands. In the workload, a command after `&&` is executed even if the command before it
    fails; a note states this.
    """
    behind = set(map(id, chained))
    steps: list[Step] = []
    before: list[Step] = []
    for command in commands:
        made = reader.steps(command)
        if made and before and id(command) in behind:
            why = (
                "the next command is always executed; a shell skips it after a failed connection, and with "
                "--fail also after a status of 400 or above"
            )
            reader.note(command[0], "&&", why)
        steps += made
        before = made
    return steps


def _is_setting(word: Word) -> bool:
    """Return True if a word is an assignment to a shell variable, NAME=value."""
    name, equals, _ = word.text.partition("=")
    return bool(equals) and "/" not in name


class _Reader:
    """Reads curl commands, and collects their faults."""

    def __init__(self, draft: ImportDraft, options: ImportOptions) -> None:
        self.draft = draft
        self.options = options
        self.faults: list[Fault] = []
        # True if any request waits for its response without a time limit.
        self.endless = False
        # Connection timeouts of the requests, each with its first position in the file. None stands for requests that
        # set no connection timeout.
        self.connects: dict[float | None, tuple[int, int]] = {}
        self.variables = Variables()

    def fault(self, word: Word, where: str, message: str) -> None:
        self.faults.append(Fault(self.draft.source, word.line, word.column, where, message))

    def note(self, word: Word, what: str, why: str) -> None:
        self.draft.notes.add((word.line, word.column), what, why)

    def steps(self, words: list[Word]) -> list[Step]:
        """Return the steps of a command, one for each URL; an empty list if the command is not curl."""
        first = words[0]
        if all(map(_is_setting, words[words[0].text == "export" :])):
            for word in self.variables.set(words):
                name = word.text.partition("=")[0]
                self.note(word, f"variable ${name}", "is set to a value that is not known before the run")
            return []
        set_for_it = list(takewhile(_is_setting, words))
        words = [self.variables.known(word) for word in words[len(set_for_it) :]]
        program = Path(words[0].text).name if words else ""
        if program not in {"curl", "curl.exe"}:
            shown = " ".join(word.text for word in (words or [first]))
            self.note(first, f"command {shown[:60]!r}", "is not curl: left out")
            # `NAME=$(command)` was read as an assignment followed by a command. The shell would set the variable to a
            # value that is unknown here.
            self.variables.forget(set_for_it)
            return []
        steps = [step for part in _parts(words[1:]) for step in self._calls(first, part)]
        return self._with_parameters(steps, words)

    def _calls(self, first: Word, words: list[Word]) -> list[Step]:
        """Return the requests of a command, or of its part between two `--next`.

        The list is empty if a request has a fault.
        """
        call, faults = Call((first.line, first.column)), len(self.faults)
        self._arguments(words, call)
        if not call.urls:
            self.fault(first, "curl", "must have a URL, got none")
        try:
            urls = [(word, url) for word in call.urls for url in self._urls(word, call)]
            return [self._step(call, url) for _, url in urls] if len(self.faults) == faults else []
        except ValueError as error:
            self.fault(call.urls[0], "curl", str(error))
            return []

    def connect(self) -> None:
        """Set the connection timeout of the workload, which applies to all requests."""
        given = [limit for limit in self.connects if limit is not None]
        if given:
            self.draft.defaults["connect_timeout"] = seconds(max(given))
        if given and len(self.connects) > 1:
            why = f"is {max(given):g} s for all requests of the workload"
            self.draft.notes.add(self.connects[max(given)], "option --connect-timeout", why)

    def _urls(self, word: Word, call: Call) -> list[str]:
        """Return the URLs that a word denotes. curl makes a request for each of them."""
        urls, more = ([word.text], False) if "globoff" in call.switches else urls_of(word)
        if more:
            self.note(
                word,
                f"URL {word.text[:60]!r}",
                f"denotes more than {URLS_AT_MOST} URLs: only the first {URLS_AT_MOST} are requested",
            )
        urls = [(url if "://" in url else f"http://{url}").partition("#")[0] for url in urls]
        return urls if "path-as-is" in call.switches else [resolved(url) for url in urls]

    def _with_parameters(self, steps: list[Step], words: list[Word]) -> list[Step]:
        """Replace shell variables in the steps by parameters of the workload."""
        reasons: dict[str, str] = {}
        for word in words:
            for piece in [piece for kind, piece in word.pieces if kind != "text"]:
                if piece not in reasons:
                    steps, reasons[piece] = self._with_parameter(steps, piece)
                self.note(word, f"variable ${piece}", reasons[piece])
        return steps

    def _with_parameter(self, steps: list[Step], variable: str) -> tuple[list[Step], str]:
        """Replace a shell variable by a parameter in the steps; return the new steps and the text of the note on it."""
        name = identifier(variable, "variable")
        replaced = [_replaced(step, {f"$${{{variable}}}": f"${{parameters.{name}}}"}) for step in steps]
        if replaced == steps:
            return steps, "its value is unknown: only the path of the URL is kept, set the address with --address"
        self.draft.parameters.setdefault(name, "change-me")
        return replaced, f"its value is unknown: set parameters.{name}"

    def _arguments(self, words: list[Word], call: Call) -> None:
        rest, ended = iter(words), False
        for word in rest:
            if word.redirects:
                target = next(rest, None)
                if "<" in word.text:
                    shown = f"{word.text} {target.text[:40]}" if target is not None else word.text
                    self.note(word, f"redirection {shown!r}", "left out: input from the shell is not read")
            elif ended or not word.text.startswith("-") or word.text == "-":
                call.urls.append(word)
            elif word.text == "--":
                ended = True
            elif word.text.startswith("--"):
                name = word.text[2:]
                value = next(rest, None) if name in VALUED else None
                self._option(name, word, value, call)
            else:
                self._short(word, rest, call)

    def _short(self, word: Word, rest: Any, call: Call) -> None:
        """Read several short options in one word. The value of the last option may follow in the same word."""
        letters = word.text[1:]
        for index, letter in enumerate(letters):
            name = SHORT.get(letter, letter)
            if name not in VALUED:
                self._option(name, word, None, call)
                continue
            value = _tail(word, index + 2) if letters[index + 1 :] else next(rest, None)
            self._option(name, word, value, call)
            return

    def _option(self, name: str, word: Word, value: Word | None, call: Call) -> None:
        if name in VALUED and value is None:
            self.fault(word, word.text, "must have a value, got none")
            return
        if value is not None:
            self._valued(name, word, value, call)
        elif name in {"get", "head"}:
            call.as_query, call.head = call.as_query or name == "get", call.head or name == "head"
        elif name in {"globoff", "path-as-is"}:
            call.switches.add(name)
        else:
            self._settle(name, word)

    def _settle(self, name: str, word: Word) -> None:
        """Add a note about an option that no other method handles, unless the option is harmless."""
        base = name.removeprefix("no-")
        if name not in OPTIONS and base in OPTIONS and base not in VALUED:
            return  # the option switches off a feature that is off by default, so it has no effect
        entry = OPTIONS.get(name, Key(Fate.NOTED, "is not known; if it has a value, the value is read as a URL"))
        if entry.fate is not Fate.HARMLESS:
            shown = word.text if word.text == f"--{name}" else f"{word.text} (--{name})"
            self.note(word, f"option {shown}", entry.why)

    def _valued(self, name: str, word: Word, value: Word, call: Call) -> None:  # noqa: PLR0912 - one branch per option
        place = (value.line, value.column)
        if name == "request":
            call.method = value.text.upper()
        elif name == "header":
            self._header(word, value, call)
        elif name in {"user-agent", "referer"}:
            # `URL;auto`: curl sends the URL as Referer, and sets the header itself after redirects. Without a URL, the
            # first request has no such header.
            text = value.text.removesuffix(";auto") if name == "referer" else value.text
            if text:
                call.headers.append(({"referer": "Referer"}.get(name, "User-Agent"), text, place))
        elif name == "oauth2-bearer":
            call.headers.append(("Authorization", f"Bearer {value.text}", place))
        elif name == "range":
            call.range = value
        elif name in _DATA:
            call.data.append((name, value))
        elif name in {"form", "form-string"}:
            call.form.append((name, value))
        elif name in {"max-time", "connect-timeout"}:
            self._timeout(name, value, call)
        elif name == "user":
            call.user = value
        elif name == "upload-file":
            call.upload = value
        elif name == "url":
            call.urls.append(value)
        elif name == "url-query":
            call.more.append(value)
        else:
            self._settle(name, word)

    def _header(self, word: Word, value: Word, call: Call) -> None:
        """Read a header option: `Name: value` sets a value, `Name;` an empty value, and `Name:` removes the header."""
        name, colon, rest = value.text.partition(":")
        place = (value.line, value.column)
        if colon and rest.strip():
            call.headers.append((name.strip(), rest.strip(), place))
        elif colon:
            call.removed.add(name.strip().lower())
        elif name.endswith(";"):
            call.headers.append((name[:-1].strip(), "", place))
        elif name.startswith("@"):
            self.note(value, f"option {word.text} {name[:60]}", "left out: headers in a file are not read")
        else:
            self.fault(value, word.text, f"must be 'Name: value', got {value.text[:60]!r} instead")

    def _timeout(self, name: str, value: Word, call: Call) -> None:
        try:
            limit = float(value.text)
        except ValueError:
            limit = 0.0
        if not 0 < limit < 1e6:
            self.fault(value, f"--{name}", f"must be a number of seconds above 0, got {value.text[:40]!r} instead")
        elif name == "max-time":
            call.timeout = limit
        else:
            call.connect = limit

    def _step(self, call: Call, text: str) -> Step:
        target = self.draft.target(url_address(text))
        login = user_info(text)
        if any(name == "json" for name, _ in call.data) and not call.as_query:
            given = {name.lower() for name, _, _ in call.headers} | call.removed
            call.headers += [("Accept", "application/json", call.place)] if "accept" not in given else []
        self.endless = self.endless or call.timeout is None
        self.connects.setdefault(call.connect, call.place)
        carried = carry([*call.headers, *self._range(call)], self.draft.notes, recorded=False)
        body = None if call.as_query else self._body(call, carried.headers)
        if call.as_query and call.data:
            text += separator(text) + self._joined(call)
        for word in call.more:
            # If a plus sign precedes the text, the text is encoded already.
            encoded = word.text[1:] if word.text.startswith("+") else self._data("data-urlencode", word)
            text += separator(text) + encoded
        if call.upload is not None and urlsplit(text).path.endswith("/"):
            # If the URL of an upload ends with a slash, curl appends the file name.
            text += quote(Path(call.upload.text).name)
        path, query = path_and_query(text)
        method = self._method(call, body is not None)
        if carried.bearer is not None:
            carried.headers["Authorization"] = f"Bearer {literal(carried.bearer)}"
            self.draft.notes.add(call.place, "token of the header Authorization", "is copied into the workload file")
        return request(
            method,
            literal(path),
            target=target,
            query={key: literal(value) for key, value in query or []},
            headers=carried.headers,
            # A bearer token has precedence over any other login of the command.
            auth=None if carried.bearer is not None else self._auth(call, carried.basic) or login,
            body=body,
            timeout=seconds(call.timeout) if call.timeout else None,
        )

    def _range(self, call: Call) -> list[tuple[str, str, tuple[int, int]]]:
        """Return the header Range for the option --range, in a list that is empty if no such header is sent.

        A missing dash in the range is added, as by curl.
        """
        word = call.range
        if word is None:
            return []
        if call.form or call.upload or (call.data and not call.as_query):
            self.note(word, "option -r (--range)", "left out: with a body, curl sends the header Content-Range")
            return []
        return [("Range", f"bytes={word.text}{'' if '-' in word.text else '-'}", (word.line, word.column))]

    @staticmethod
    def _method(call: Call, has_body: bool) -> str:
        implied = "HEAD" if call.head else "PUT" if call.upload else "POST" if has_body else "GET"
        method = call.method or implied
        if method not in METHODS:
            raise ValueError(f"must have a method among {', '.join(sorted(METHODS))}, got {method!r} instead")
        return method

    def _auth(self, call: Call, basic: tuple[str, str] | None) -> dict[str, str] | None:
        if call.user is not None:
            user, _, password = call.user.text.partition(":")
        elif basic is not None:
            user, password = basic
        else:
            return None
        self.draft.notes.add(call.place, f"password of {user}", "is copied into the workload file")
        return {"user": literal(user), "password": literal(password)}

    def _body(self, call: Call, headers: dict[str, str]) -> Body | None:
        """Return the body of a request. Remove the Content-Type header if the key of the body implies it."""
        if call.form:
            return Body(
                "multipart", parts_of([field for name, word in call.form for field in self._fields(name, word)])
            )
        given = next((key for key in headers if key.lower() == "content-type"), None)
        if "content-type" in call.removed and (call.data or call.upload is not None):
            why = "curl sends the body without this header; the workload sends the media type of the body"
            self.draft.notes.add(call.place, "header Content-Type", why)
        if call.upload is not None:
            if given is None and "content-type" not in call.removed:
                why = "curl sends uploads without a media type; the workload sends text/plain"
                self.note(call.upload, "media type of the file", why)
            return self._file(call.upload, call.upload.text)
        if not call.data:
            return None
        name, word = call.data[0]
        kind = "application/json" if name == "json" else _FORM
        if is_file(name, word) and len(call.data) == 1:
            if given is None:
                headers["Content-Type"] = kind
            if name in {"data", "data-ascii"} and has_line_ends(word.text[1:]):
                self.note(word, f"file {word.text[1:81]}", "is sent unchanged; curl removes its line ends")
            return self._file(word, word.text[1:])
        body = body_of(self._joined(call), headers[given] if given else kind)
        if given is None and body.key == "body":
            headers["Content-Type"] = kind
        elif given is not None and body.key != "body" and headers[given].lower() in {"application/json", _FORM}:
            del headers[given]
        return body

    def _joined(self, call: Call) -> str:
        """Join the values of all data options with the separator that curl uses."""
        if any(is_file(name, word) for name, word in call.data):
            raise ValueError(
                "must have one body and no file in the query, got several bodies with a file, or a file in the query"
            )
        separator = "" if call.data[0][0] == "json" else "&"
        return separator.join(self._data(name, word) for name, word in call.data)

    def _data(self, name: str, word: Word) -> str:
        if name != "data-urlencode":
            # curl removes line ends only from the data of files, which `_joined` refuses.
            return word.text
        key, equals, value = word.text.partition("=")
        if not equals and "@" in key:
            self.note(word, "--data-urlencode of a file", "the text of the option is sent, not the content of the file")
        encoded = quote(value if equals else key, safe="-._~${}").replace("%20", "+")
        return f"{key}={encoded}" if equals and key else encoded

    def _fields(self, name: str, word: Word) -> list[tuple[str, Any]]:
        """Read a field of a multipart body: `name=text`, or one or more files, `name=@file;type=...,file`."""
        key, equals, value = word.text.partition("=")
        if not equals:
            raise ValueError(f"must be name=value, got {word.text[:60]!r} instead")
        if name == "form-string":
            return [(key, literal(value))]
        files = value.startswith("@")
        named = value.startswith(("@", "<"))
        contents = contents_of(value[named:], files=files)
        if len(contents) > 1:
            why = f"curl sends {len(contents)} files in one part of type multipart/mixed; here, each file is a part"
            self.note(word, f"files of the field {key[:60]}", why)
        for setting in sorted({"headers", "encoder"} & {name for content in contents for name in content.settings}):
            self.note(word, f"{setting} of the field {key[:60]}", "left out: parts have a media type and a file name")
        return [(key, self._content(word, content, value[0] if named else "")) for content in contents]

    def _content(self, word: Word, content: Content, sign: str) -> Any:
        """Return one part of a multipart body. `sign` precedes the content in the command: `@` for a file, `<` for a
        text in a file.
        """
        keys = {"type": "content_type", "filename": "filename"}
        given = {keys[name]: literal(text) for name, text in content.settings.items() if name in keys}
        if not sign:
            return {"value": literal(content.text), **given} if given else literal(content.text)
        file = self._file(word, content.text)
        part: dict[str, object] = {"file": file.content} if file.key == "file" else {"generated": {"size": "1 KiB"}}
        if sign == "@":
            part["filename"] = literal(Path(content.text).name)
        else:
            why = "is sent as a file with its name; curl sends its content as a field"
            self.note(word, f"file {content.text[:80]}", why)
        return {**part, **given}

    def _file(self, word: Word, name: str) -> Body:
        """Return a body that is a file, with a path relative to the folder of the workload.

        If the file does not exist, the body is generated content.
        """
        path = Path(name)
        if is_regular_file(path):
            return Body("file", relative_to_workload(path, self.options.folder))
        self.note(word, f"file {name[:80]}", "does not exist: generated content of 1 KiB is sent instead")
        return Body("body", "${random.text(1024)}")


def _parts(words: list[Word]) -> list[list[Word]]:
    """Split the words of a command at `--next`."""
    parts: list[list[Word]] = [[]]
    for word in words:
        if word.text in {"--next", "-:"}:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _tail(word: Word, start: int) -> Word:
    """Return the value of a short option that follows the option in the same word, as in `-ofile`."""
    (_, first), *others = word.pieces
    return Word(word.line, word.column + start, [("text", first[start:]), *others])


def _replaced(value: Any, by: dict[str, str]) -> Any:
    """Replace texts everywhere in a step; `by` maps each old text to its new text."""

    def replaced(leaf: Any, _: str) -> Any:
        for old, new in by.items() if isinstance(leaf, str) else ():
            leaf = leaf.replace(old, new)
        return leaf

    return changed_leaves(value, replaced)
