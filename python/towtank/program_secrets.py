"""Hides secrets in the environment variables and arguments of a program, for documents that are stored.

Any environment variable may contain a secret, so every value is hidden, except numbers, common words such as `true`,
and references such as `${port}`.

In arguments, two kinds of secrets are hidden: values of assignments in a shell command, by the rule above, and
passwords in the short options of known clients (`mysql -pabc`). An option that contains a shell command, such as
`-p$(cat file)`, stays visible.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from towtank.secret_names import may_be_secret_name

_PLAIN = re.compile(
    r"[+-]?[0-9]{1,8}(?:\.[0-9]{1,6})?|(?:\$\{[^{}]*\}[:,]?)+|"
    r"true|false|yes|no|on|off|none|null|default|auto|always|never|enabled|disabled|"
    r"trace|debug|info|notice|warn|warning|error|critical|"
    r"production|development|testing|test|staging|release|fast|slow|utc|c|c\.utf-8|en_us\.utf-8|utf-8|",
    re.IGNORECASE,
)
_LITERAL = r"(?:\"[^\"`$\\]*\"|'[^']*'|[^\s;&|()<>\"'`$\\]+)+"
_ASSIGNMENT = re.compile(rf"(?<![^\s;&|(\"'])(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>{_LITERAL})")
_WHOLE_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
_SHELL_TEXT = re.compile(r"-[a-z]{0,4}c")
_ENDS = re.compile(r"[;&|()\n]")
_WORDS = re.compile(r"[\s;&|()]+")


class _Options(NamedTuple):
    """Short options by which a client program receives a password: `glued` options are followed by it directly
    (`-pabc`), `before` options take it as the next argument (`-p abc`).
    """

    glued: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


_MYSQL, _BOTH_P = _Options(("-p",)), _Options(("-p",), ("-p",))
_LDAP = _Options(("-w",), ("-w",))
_CLIENTS = {
    **dict.fromkeys(("mysql", "mysqladmin", "mysqldump", "mysqlimport", "mysqlslap"), _MYSQL),
    **dict.fromkeys(("mariadb", "mariadb-admin", "mariadb-dump", "mariadb-import", "mariadb-slap"), _MYSQL),
    **dict.fromkeys(("sshpass", "mongo", "mongosh", "mongodump", "mongoimport", "mongorestore", "cqlsh"), _BOTH_P),
    **dict.fromkeys(("ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami", "ldappasswd"), _LDAP),
    **dict.fromkeys(("sqlcmd", "bcp", "mosquitto_pub", "mosquitto_sub"), _Options(("-P",), ("-P",))),
    **dict.fromkeys(("curl", "smbclient"), _Options(("-u", "-U"), ("-u", "-U", "--user", "--proxy-user"))),
    "redis-cli": _Options((), ("-a",)),
}


def is_plain_variable(value: str) -> bool:
    """Return True if a value is a number, a common word or a reference, which are not secrets.

    Examples
    --------
    >>> [is_plain_variable(value) for value in ("4", "True", "info", "${port}", "hunter2", "postgresql://host/shop")]
    [True, True, True, True, False, False]
    """
    return _PLAIN.fullmatch(value) is not None


def hidden_arguments(program: str, words: Sequence[str], hidden: str) -> list[str]:
    """Return the arguments of a program without secrets; the text `hidden` replaces each of them.

    Examples
    --------
    >>> hidden_arguments("sh", ["-c", "TOKEN=abc N=4 ./app; mysql -pabc shop"], "***")
    ['-c', 'TOKEN=*** N=4 ./app; mysql -p*** shop']
    >>> hidden_arguments("mysql", ["-ushop", "-pabc"], "***")
    ['-ushop', '-p***']
    """
    client = _client(program)
    found = []
    before = ""
    for word in words:
        assigned = _WHOLE_ASSIGNMENT.fullmatch(word)
        if _SHELL_TEXT.fullmatch(before):
            shown = _hidden_text(word, hidden)
        elif assigned is not None:
            shown = _hidden_assignment(assigned, hidden, PurePosixPath(program).name == "env")
        else:
            shown = _hidden_option(client, before, word, hidden)
        client = _client(word) or client
        found.append(shown)
        before = word
    return found


def _hidden_assignment(found: re.Match[str], hidden: str, is_variable: bool) -> str:
    name, value = found.groups()
    secret = not is_plain_variable(value) if is_variable else may_be_secret_name(name)
    return f"{name}={hidden}" if secret else found[0]


def _client(word: str) -> _Options | None:
    return _CLIENTS.get(PurePosixPath(word).name)


def _hidden_option(client: _Options | None, before: str, word: str, hidden: str) -> str:
    """Hide the password in an argument of a client program; an argument with a command substitution stays unchanged."""
    if client is None or "$(" in word or "`" in word:
        return word
    if before in client.before and not word.startswith("-"):
        return hidden
    glued = next((option for option in client.glued if word.startswith(option) and word != option), None)
    return word if glued is None else f"{glued}{hidden}"


def _hidden_text(text: str, hidden: str) -> str:
    """Return a shell command in which the values of assignments, and the passwords of clients, are hidden."""
    text = _ASSIGNMENT.sub(lambda found: _hidden_assignment(found, hidden, is_variable=True), text)
    parts: list[str] = []
    client, before, position = None, "", 0
    for gap in (*_WORDS.finditer(text), None):
        word = text[position : gap.start() if gap else len(text)]
        secret = before.startswith("--") and may_be_secret_name(before) and not re.match("[-$`]", word)
        parts.append(hidden if secret and word else _hidden_option(client, before, word, hidden))
        client, before = _client(word) or client, word
        if gap is not None:
            parts.append(gap[0])
            position = gap.end()
            if _ENDS.search(gap[0]):
                client, before = None, ""
    return "".join(parts)
