"""Finds the fields that access logs of nginx and Apache can contain, each with an example value.

Neither program lists its fields, but both refuse a log format with an unknown field. So the functions try candidates:
for nginx every word in its executable, and for Apache every letter after `%`. Then each server answers a request and
logs all accepted fields.
"""

from __future__ import annotations

import re
import socket
import string
import subprocess
import time
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from shutil import which

_BETWEEN = "<+>"
_STARTS_WITHIN_S = 20.0
# Prefixes after which nginx accepts any ending, such as `$http_`; each prefix with the ending that is tried.
_NAMED = {"http_": "x_forwarded_for", "arg_": "a", "cookie_": "c", "sent_http_": "content_type"}
_NAMED |= {"upstream_http_": "content_type", "upstream_cookie_": "c"}
_HEADERS = {"X-Forwarded-For": "10.7.0.1, 10.8.0.1", "Cookie": "c=c1", "Referer": "http://a/b", "User-Agent": "Agent 1"}
# Arguments that are tried with each Apache field of the form `%{ARGUMENT}x`.
_ARGUMENTS = ("X-Forwarded-For", "Content-Type", "c", "us", "remote", "local", "PATH")


def program(name: str) -> str:
    """Return the path of a server program, on `PATH` or in a folder such as `/usr/sbin`."""
    found = which(name) or which(name, path="/usr/sbin:/usr/local/sbin")
    if found is None:
        raise SystemExit(f"error: needs {name}")
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def serve(command: Sequence[str], port: int, log: Path) -> str:
    """Start a server, send it a request, and stop it; return the line that the server logged."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + _STARTS_WITHIN_S
            while time.monotonic() < end:
                with suppress(OSError):
                    request = urllib.request.Request(f"http://127.0.0.1:{port}/x?a=1", headers=_HEADERS)
                    urllib.request.urlopen(request, timeout=5).close()
                    break
                time.sleep(0.1)
            while time.monotonic() < end and not (log.exists() and log.stat().st_size):
                time.sleep(0.1)
        finally:
            server.terminate()
    return log.read_text("utf-8", "replace").splitlines()[0]


def accepted(candidates: Sequence[str], accepts: Callable[[str], bool]) -> list[str]:
    """Return the candidates for which `accepts` returns True."""
    with ThreadPoolExecutor(2) as pool:
        return [name for name, good in zip(candidates, pool.map(accepts, candidates), strict=True) if good]


def nginx(scratch: Path) -> tuple[str, dict[str, str]]:
    """Return the version of nginx, and its log variables with example values.

    nginx forwards the request to itself, so that the variables of an upstream server have values, too.
    """
    server = program("nginx")
    port, behind = free_port(), free_port()
    folder = scratch / "nginx"
    folder.mkdir()
    (folder / "x").write_text("x\n")

    def settings(name: str, log_format: str) -> Path:
        path = folder / f"{name}.conf"
        bodies = " ".join(f"{each}_temp_path {folder}/{each};" for each in ("client_body", "proxy", "fastcgi"))
        bodies += f" uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;"
        path.write_text(
            f"daemon off; master_process off; pid {folder}/{name}.pid; error_log {folder}/error.log;\n"
            f"events {{}}\nhttp {{ {bodies} access_log off; log_format fields {log_format};\n"
            f"server {{ listen 127.0.0.1:{behind}; root {folder}; default_type text/plain;\n"
            f"add_header Set-Cookie c=c2; }}\n"
            f"server {{ listen 127.0.0.1:{port}; access_log {folder}/access.log fields;\n"
            f"location / {{ proxy_pass http://127.0.0.1:{behind}; proxy_pass_header Set-Cookie; }} }} }}\n"
        )
        return path

    def accepts(name: str) -> bool:
        command = [server, "-t", "-q", "-p", str(folder), "-c", str(settings(f"try-{name}", f"'${name}'"))]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    # A linker may store a word only as the end of a longer word, such as `uri` in `request_uri`. So every ending of a
    # word is a candidate.
    words = re.findall(rb"(?<![a-z0-9_])[a-z][a-z0-9_]{2,40}(?=\x00)", Path(server).read_bytes())
    ends = {word.decode().split("_", cut)[-1] for word in words for cut in range(word.count(b"_") + 1)}
    known = accepted(sorted(name for name in ends if len(name) > 2), accepts)
    if not known:
        raise SystemExit(f"error: {server} accepts no variable")
    names = sorted({f"{name}{_NAMED.get(name, 'x')}" if name.endswith("_") else name for name in known})
    # nginx limits a parameter to 4,096 bytes, but joins several parameters. So each variable is a parameter.
    path = settings("nginx", f" '{_BETWEEN}' ".join(f"'${name}'" for name in names))
    line = serve([server, "-p", str(folder), "-c", str(path)], port, folder / "access.log")
    version = subprocess.run([server, "-v"], capture_output=True, text=True, check=True).stderr.split("/")[-1].strip()
    written = dict(zip(names, line.replace(str(scratch), "").split(_BETWEEN), strict=True))
    # Exclude variables that nginx accepts only because of their prefix, unless they have a value.
    prefixes = tuple(name for name in known if name.endswith("_"))
    meant = {f"{name}{_NAMED.get(name, 'x')}" for name in prefixes}
    kept = {
        name: text for name, text in written.items() if name in meant or text != "-" or not name.startswith(prefixes)
    }
    return f"nginx {version}", {f"${name}": text for name, text in kept.items()}


def apache(scratch: Path) -> tuple[str, dict[str, str]]:
    """Return the version of Apache, and the fields of its `LogFormat` with example values."""
    server = program("apache2")
    modules = next(path for path in (Path("/usr/lib/apache2/modules"), Path("/usr/lib/httpd/modules")) if path.exists())
    port = free_port()
    folder = scratch / "apache"
    folder.mkdir()
    (folder / "x").write_text("x\n")

    def settings(name: str, log_format: str) -> Path:
        path = folder / f"{name}.conf"
        path.write_text(
            f"LoadModule mpm_event_module {modules}/mod_mpm_event.so\n"
            f"LoadModule authz_core_module {modules}/mod_authz_core.so\n"
            f"ServerName shop\nListen 127.0.0.1:{port}\nPidFile {folder}/{name}.pid\nErrorLog {folder}/error.log\n"
            f"DefaultRuntimeDir {folder}\nDocumentRoot {folder}\n"
            f'LogFormat "{log_format}" fields\nCustomLog {folder}/access.log fields\n'
        )
        return path

    def accepts(field: str) -> bool:
        tried = "".join(f"{ord(char):02x}" for char in field)
        command = [server, "-t", "-d", str(folder), "-f", str(settings(f"try-{tried}", field))]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    letters = string.ascii_letters
    candidates = [f"%{letter}" for letter in letters] + [f"%{{x}}{letter}" for letter in letters]
    candidates += [f"%{{x}}^{first}{second}" for first in "tF" for second in letters]
    fields = accepted(candidates, accepts)
    if not fields:
        raise SystemExit(f"error: {server} accepts no field")
    asked = [field.replace("{x}", f"{{{name}}}") for field in fields for name in _ARGUMENTS if "{x}" in field]
    asked = sorted({*(field for field in fields if "{x}" not in field), *accepted(sorted(set(asked)), accepts)})
    path = settings("apache", _BETWEEN.join(asked))
    line = serve([server, "-X", "-d", str(folder), "-f", str(path)], port, folder / "access.log")
    version = subprocess.run([server, "-v"], capture_output=True, text=True, check=True).stdout
    written = dict(zip(asked, line.replace(str(scratch), "").split(_BETWEEN), strict=True))
    # Exclude a field if its argument has no effect, or if the logged text only repeats the argument.
    kept = {field: text for field, text in written.items() if "{" not in field}
    for field, text in written.items():
        found = re.fullmatch(r"%\{(.*)\}(.*)", field)
        trailer = found and found[2].startswith("^") and found[1] == _ARGUMENTS[0]
        if found and (trailer or text not in ("-", found[1], kept.get(f"%{found[2]}"))):
            kept[field] = text
    return f"Apache {version.split('Apache/')[1].split()[0]}", kept
