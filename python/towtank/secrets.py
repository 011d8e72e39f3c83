"""Removes secrets from everything that Towtank stores, prints or passes to other programs.

Logins, keys and tokens are kept in memory and in the files that need them (mode `PRIVATE_MODE`, listed in
`docs/reference/run-folder.md`). All other output passes through `redacted`: documents of the run folder, error
messages, notes on the terminal, names of steps.

A value is a secret because of its position, not its content. Secrets are: the login in an address, the value of a key
with a name such as `password`, and the values in a query, except plain values of harmless names (`page=2`,
`sort=name`). `program_secrets` has the rules for variables and arguments of programs.
"""

from __future__ import annotations

import os
import re
import stat
from base64 import b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeGuard
from urllib.parse import SplitResult, unquote

from towtank.files import make_folder, other_kind, put
from towtank.program_secrets import hidden_arguments, is_plain_variable
from towtank.secret_names import WORDS, is_harmless_name, may_be_secret_name

HIDDEN = "***"
_PAIR_LENGTH = 2
# Keys of a login whose values are not secret, such as the user name.
_LOGIN_KEYS = ("user", "username", "kind", "type")
_STEP = re.compile(r"[\s/]")
PRIVATE_MODE = 0o600
PRIVATE_FOLDER_MODE = 0o700

# Pattern for the login in an address. A password that is not percent-encoded may contain any character except blanks
# and `/ ? # " ' < >`. A match begins only at the first letter of a word; otherwise matching would take quadratic time.
_LOGIN = re.compile(
    r"(?P<scheme>(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*://)(?P<login>[^\s/?#\"'<>@]*(?:@[^\s/?#\"'<>@]+)*)@"
)
_BARE_LOGIN = re.compile(r"(?<![\w:/.@%+~-])[\w.%+~-]+:[^\s/@:\"'<>,]+@(?=[\w\[])")
# Pattern for values in the query of a URL, and in a fragment such as `#access_token=...`.
_QUERY_VALUE = re.compile(r"(?P<key>[?&;#](?P<name>[^\s=&;?#\"'<>]+)=)(?P<value>(?:\$\{[^{}]*\}|[^\s&;#\"'<>])+)")
# Pattern for a token after the name of its scheme, such as `Bearer abc`, in a header or a message.
_BEARER = re.compile(
    r"(?P<scheme>\bBearer\s+|\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token|digest)\s+)"
    r"(?!\$\{|(?:auth\w*|scheme|tokens?)\b)[^\s,;\"'<>]+",
    re.IGNORECASE,
)
_SCHEMES = re.compile("bearer|authorization", re.IGNORECASE)
# Pattern for values that stay visible under a harmless name: short numbers and words.
_PLAIN_VALUE = re.compile(r"[+-]?[0-9]{1,8}(?:\.[0-9]{1,4})?|[A-Za-z]{1,20}(?:[_.,+-][A-Za-z]{1,20}){0,3}")
_PLACE = re.compile(r"\$\{[^{}]*\}")


def redacted_text(text: str) -> str:
    """Replace secrets in an address, or in a message with addresses, by `***`: logins of addresses, values of queries,
    and tokens of headers.

    Examples
    --------
    >>> redacted_text("http://shop:pw@host/list?page=2&token=abc")
    'http://***@host/list?page=2&token=***'
    >>> redacted_text("postgresql://postgres@127.0.0.1/shop and mysql://shop:pw@127.0.0.1/shop")
    'postgresql://postgres@127.0.0.1/shop and mysql://***@127.0.0.1/shop'
    """
    if "@" in text:
        text = _BARE_LOGIN.sub(f"{HIDDEN}@", _LOGIN.sub(_hidden_login, text))
    if "=" in text:
        text = _QUERY_VALUE.sub(_hidden_value, text)
    return _BEARER.sub(rf"\g<scheme>{HIDDEN}", text) if _SCHEMES.search(text) else text


def _hidden_login(found: re.Match[str]) -> str:
    """Hide the login of an address. A user name without a password stays, except in an HTTP address, where it is often
    a token.
    """
    is_user = ":" not in found["login"] and not found["scheme"].lower().startswith("http")
    return found[0] if is_user else f"{found['scheme']}{HIDDEN}@"


def _hidden_value(found: re.Match[str]) -> str:
    value = found["value"]
    harmless = is_harmless_name(unquote(found["name"]))
    rest = _PLACE.sub("", value)
    if not rest or (harmless and _PLAIN_VALUE.fullmatch(rest)):
        return found[0]
    return found["key"] + HIDDEN


def redacted(document: Any, parameters: Collection[str] = ()) -> Any:
    """Return a copy of a document without its secrets. Parameters are those of the workload whose values are secrets,
    because the workload uses them as a password or token.

    Examples
    --------
    >>> redacted({"user": "shop", "password": "pw", "address": ["http://u:p@host"]})
    {'user': 'shop', 'password': '***', 'address': ['http://***@host']}
    >>> redacted(["--user", "shop", "--password", "pw", "--api-key=k3"])
    ['--user', 'shop', '--password', '***', '--api-key=***']
    """
    if isinstance(document, str):
        return redacted_text(document)
    if isinstance(document, Mapping):
        copy = {key: _redacted_value(str(key), value, parameters) for key, value in _of_program(document).items()}
        named, value = document.get("name"), document.get("value")
        if isinstance(value, str) and isinstance(named, str) and _is_secret_path(named, parameters):
            copy["value"] = HIDDEN
        return copy
    if isinstance(document, list | tuple):
        if document and all(isinstance(value, str) for value in document):
            return _redacted_words(document)
        pair = _redacted_pair if document and all(map(_is_pair, document)) else redacted
        return [pair(value, parameters) for value in document]
    return document


def _of_program(document: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Hide the secrets in the `environment`, `arguments` and `command` of a program's description."""
    keys = ("program", "environment", "arguments", "command")
    program, variables, arguments, command = (document.get(key) for key in keys)
    if isinstance(variables, Mapping):
        hidden = {
            name: HIDDEN if isinstance(value, str) and not is_plain_variable(value) else value
            for name, value in variables.items()
        }
        document = {**document, "environment": hidden}
    if _are_texts(arguments):
        document = {**document, "arguments": hidden_arguments(str(program), arguments, HIDDEN)}
    if _are_texts(command) and command:
        document = {**document, "command": [command[0], *hidden_arguments(command[0], command[1:], HIDDEN)]}
    return document


def _are_texts(value: Any) -> TypeGuard[Sequence[str]]:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _redacted_words(words: Sequence[str]) -> list[str]:
    """Redact a list of texts that may be arguments of a program, such as `--password abc` or `--password=abc`."""
    found = []
    for before, word in zip(("", *words), words, strict=False):
        option, equals, _ = word.partition("=")
        if _is_secret_option(before) and not word.startswith("-"):
            found.append(HIDDEN)
        elif equals and _is_secret_option(option):
            found.append(f"{option}={HIDDEN}")
        else:
            found.append(redacted_text(word))
    return found


def _is_secret_option(word: str) -> bool:
    return word.startswith("-") and "=" not in word and may_be_secret_name(word)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == _PAIR_LENGTH and isinstance(value[0], str)


def _redacted_pair(pair: Any, parameters: Collection[str]) -> list[Any]:
    """Return a pair of name and value, such as a header, with a secret value hidden."""
    name, value = pair
    return [redacted(name), _redacted_value(name, value, parameters)]


def _redacted_value(key: str, value: Any, parameters: Collection[str]) -> Any:
    if _is_secret_path(key, parameters):
        return _hidden(value, parameters)
    if key == "parameters" and isinstance(value, Mapping):
        value = {name: _hidden(inner, ()) if name in parameters else inner for name, inner in value.items()}
    return redacted(value, parameters)


def _hidden(value: Any, parameters: Collection[str]) -> Any:
    """Hide the value of a key that names a secret. In a mapping, only texts are hidden, because numbers may be
    counts.
    """
    if isinstance(value, Mapping):
        return {
            key: HIDDEN
            if isinstance(inner, str) and key not in _LOGIN_KEYS
            else _redacted_value(key, inner, parameters)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_hidden(inner, parameters) for inner in value]
    return HIDDEN if isinstance(value, str | int | float) and not isinstance(value, bool) else value


def _is_secret_path(path: str, parameters: Collection[str]) -> bool:
    """Return True if a path of keys leads to a secret. The name of a step, such as `POST /token`, is not a path."""
    section, _, name = path.rpartition(".")
    return (may_be_secret_name(path) and not _STEP.search(path)) or (section == "parameters" and name in parameters)


def redacted_setting(setting: str, parameters: Collection[str] = ()) -> str:
    """Replace secrets in a setting `path=value` by `***`: the whole value if the path names a secret.

    Examples
    --------
    >>> redacted_setting("parameters.password=abc"), redacted_setting("services.web.settings.threads=4")
    ('parameters.password=***', 'services.web.settings.threads=4')
    """
    path, equals, value = setting.partition("=")
    variable = _VARIABLE.fullmatch(path.strip()) is not None and not is_plain_variable(value.strip("\"' "))
    if variable or _is_secret_path(path.strip(), parameters):
        return f"{path}{equals}{HIDDEN}"
    fields = _FIELD.sub(lambda found: _hidden_field(found, parameters), redacted_text(value))
    return f"{path}{equals}{fields}"


# Pattern for the path of an environment variable of a service, in a setting on the command line.
_VARIABLE = re.compile(r"services\.[^.]+\.environment(?:\.\w+)?")
# Pattern for a pair such as `password: abc` within a value that is a mapping.
_FIELD = re.compile(
    r"(?P<key>[\"']?(?P<name>[\w-]+)[\"']?\s*:\s*)(?P<value>\"[^\"]*\"|'[^']*'|\[[^\[\]]*\]|[^\s,{}\[\]]+)"
)


def _hidden_field(found: re.Match[str], parameters: Collection[str]) -> str:
    secret = may_be_secret_name(found["name"]) or found["name"] in parameters
    return found["key"] + HIDDEN if secret else found[0]


# Pattern for a literal in an SQL statement. The last literal of a truncated statement has no closing quote.
_LITERAL = re.compile(r"(?:(?P<name>\b\w{1,64})[^\w']{1,8})?'(?P<text>(?:[^']|'')*)(?:'|$)")


def redacted_statement(statement: str) -> str:
    """Replace the text literals of an SQL statement by `***`, except plain words compared with columns of harmless
    names.

    Examples
    --------
    >>> redacted_statement("SELECT 1 FROM a WHERE kind = 'open' AND secret = 'k3-99x'")
    "SELECT 1 FROM a WHERE kind = 'open' AND secret = '***'"
    """
    return _LITERAL.sub(_hidden_literal, statement)


def _hidden_literal(found: re.Match[str]) -> str:
    name, text = found["name"] or "", found["text"]
    secret = may_be_secret_name(name) or name.lower() == "by"  # The name `by` occurs in `IDENTIFIED BY 'abc'`.
    if not text or (not secret and _PLAIN_VALUE.fullmatch(text)):
        return found[0]
    return f"{found[0][: found.start('text') - found.start() - 1]}'{HIDDEN}'"


# Pattern for `password=abc`, `"password": "abc"` and `X-Api-Key: abc` anywhere in a log line. Only names of secrets
# match, so that the pair in `error: password=abc` is found too.
_PAIR = re.compile(
    rf"(?P<key>(?:{WORDS.replace('_?', '[_-]?')})(?:\\*[\"'\])]|%2[27])*\s*(?:[:=]|%3[AD])\s*)"
    r"(?P<value>\\+\"[^\"\\]*(?:\\+\")?|\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*'?|\[[^\]]*\]?"
    r"|(?:(?:basic|bearer|digest|negotiate)\s+)?[^\s,;&\"'{}\[\]()<>]+)",
    re.IGNORECASE,
)
# Pattern for an element of XML with the name of a secret, and its text.
_ELEMENT = re.compile(rf"(?P<key><[\w:.-]*(?:{WORDS.replace('_?', '[_-]?')})(?:\s[^<>]*)?>)[^<]+", re.IGNORECASE)
_SCHEME = re.compile(r"(?P<scheme>\b(?:basic|bearer|negotiate|digest)\s+)[\w.~+/=-]{6,}", re.IGNORECASE)
# Pattern for a cookie header up to the end of the line or of the quoted text, because the header may contain several
# pairs.
_COOKIES = re.compile(r"(?P<key>\bcookie[\"']?\s*[:=]\s*)[^\"']+", re.IGNORECASE)
_KEY_DETAIL = re.compile(r"(?P<key>\bKey \([^)]*\)=)\([^)]*\)")
_STATEMENT = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|VALUES|WHERE|SET)\b", re.IGNORECASE)
# Pattern for long words that mix digits and letters, such as keys, tokens, sessions or digests.
_TOKEN = re.compile(r"(?<![\w/.+-])(?=[\w+=-]*[0-9])(?=[\w+=-]*[A-Za-z])[\w+-]{24,}(?:\.[\w+-]{8,})*={0,2}(?![\w/])")


def secret_values(text: str) -> Iterator[str]:
    """Yield the values after names of secrets in a text, such as a form or a JSON document.

    Examples
    --------
    >>> list(secret_values('{"user": "ann", "password": "hunter2"}')), list(secret_values("user=ann&api_key=k3-9"))
    (['hunter2'], ['k3-9'])
    """
    for found in _PAIR.finditer(text):
        yield found.group("value").strip("\\\"'[]")


def redacted_line(line: str) -> str:
    """Replace secrets in a log line of any form by `***`.

    Secrets in a log line are: values of secret names (`password=abc`, `"password": "abc"`), authorization and cookie
    headers, literals of SQL statements, and long words that mix digits and letters.

    Examples
    --------
    >>> redacted_line("login failed: user=ann password=hunter2")
    'login failed: user=ann password=***'
    >>> redacted_line('refused {"user": "ann", "api_key": "k3"} Authorization: Bearer abc.def')
    'refused {"user": "ann", "api_key": ***} Authorization: ***'
    >>> redacted_line("ERROR: no session 4f2a9c01d7e84b6f9a02c5de for Cookie: a=1; b=2")
    'ERROR: no session *** for Cookie: ***'
    """
    line = _COOKIES.sub(rf"\g<key>{HIDDEN}", redacted_text(line))
    line = _ELEMENT.sub(rf"\g<key>{HIDDEN}", _PAIR.sub(rf"\g<key>{HIDDEN}", line))
    line = _SCHEME.sub(rf"\g<scheme>{HIDDEN}", line)
    line = _KEY_DETAIL.sub(rf"\g<key>({HIDDEN})", line)
    line = redacted_statement(line) if _STATEMENT.search(line) else line
    return _TOKEN.sub(HIDDEN, line)


def basic_authorization(address: SplitResult) -> dict[str, str]:
    """Return the HTTP header that sends the login contained in an address (RFC 7617); empty if the address has no
    login.

    Examples
    --------
    >>> from urllib.parse import urlsplit
    >>> basic_authorization(urlsplit("http://Aladdin:open%20sesame@host"))
    {'Authorization': 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='}
    """
    if address.username is None:
        return {}
    login = f"{unquote(address.username)}:{unquote(address.password or '')}"
    return {"Authorization": f"Basic {b64encode(login.encode()).decode()}"}


def make_private_folder(path: Path) -> None:
    """Make a folder that only its owner can enter; an existing folder keeps its mode."""
    make_folder(path, PRIVATE_FOLDER_MODE)


def open_private(path: Path, *, follow: bool = False) -> IO[str]:
    """Open a new or emptied text file that only its owner can read. With `follow`, the path may be a symbolic link,
    which is allowed for paths that the user gave.

    Raises
    ------
    OSError
        If the file cannot be written, such as a pipe without a reader.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags, PRIVATE_MODE)
    os.set_blocking(descriptor, True)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, PRIVATE_MODE)
    return os.fdopen(descriptor, "w", encoding="utf-8")


def put_private(path: Path, text: str, *, replace: bool = True) -> None:
    """Write a text file that only its owner can read, completely or not at all. A link stays, and a pipe or a device
    (`/dev/stdout`) receives the text.

    Raises
    ------
    FileExistsError
        If the file exists and `replace` is false.
    OSError
        If the file cannot be written; an existing file is unchanged.
    """
    if replace and other_kind(path) not in {None, "a folder"}:
        with open_private(path, follow=True) as stream:
            stream.write(text)
        return
    put(path, lambda temporary: temporary.write_text(text, encoding="utf-8"), replace=replace, mode=PRIVATE_MODE)
