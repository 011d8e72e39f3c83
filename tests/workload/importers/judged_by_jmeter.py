"""Test plans run by JMeter itself and driven after their import ask a server for the same.

No part of the tests that need nothing but the project: `make judge` gets JMeter from Maven and runs this file.
"""

from __future__ import annotations

import os
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from jmeter_plans import arguments, element, group, post, request, whole
from judges import Log, driven, logging_server, without_cookies

JMETER = Path(os.environ.get("TOWTANK_JMETER", ".venv/jmeter")).resolve()
LOOPS = 2


def run(text: str, log: Log, folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What JMeter asks for, and the same number of requests of Towtank."""
    file = folder / "plan.jmx"
    host, port = log.address.split(":")
    file.write_text(whole(text, LOOPS).replace("HOST", host).replace("PORT", port), encoding="utf-8")
    java = ["java", "-Xmx256m", f"-Djmeter.home={JMETER}", "-cp", f"{JMETER}/libraries/*"]
    words = ["-n", "-t", str(file), "-l", str(folder / "out.jtl"), "-j", str(folder / "jmeter.log")]
    subprocess.run([*java, "org.apache.jmeter.NewDriver", *words], check=True, capture_output=True, cwd=folder)
    wanted = log.taken()
    return wanted, driven("jmx", file, log)[: len(wanted)]


def at(path: str, below: str = "", **properties: str) -> str:
    return request(path, below, host="HOST", port="PORT", method="GET", **properties)


def sent(path: str, inside: str, method: str) -> str:
    return (
        post(path, inside, method)
        .replace(">a</stringProp>", ">HOST</stringProp>", 1)
        .replace("</HTTPSamplerProxy>", '<stringProp name="HTTPSampler.port">PORT</stringProp></HTTPSamplerProxy>')
    )


def cookies(own: str = "", clears: str = "false") -> str:
    inner = "".join(
        f'<stringProp name="Cookie.{name}">{text}</stringProp>'
        for name, text in {"value": "v1", "domain": "HOST", "path": "/"}.items()
    )
    inner += "".join(f'<boolProp name="Cookie.{name}_specified">true</boolProp>' for name in ("path", "domain"))
    entry = f'<elementProp name="{own}" elementType="Cookie" testname="{own}">{inner}</elementProp>' if own else ""
    return (
        '<CookieManager testname="C"><collectionProp name="CookieManager.cookies">'
        f'{entry}</collectionProp><boolProp name="CookieManager.clearEachIteration">{clears}</boolProp>'
        "</CookieManager><hashTree/>"
    )


def login(url: str) -> str:
    inner = "".join(
        f'<stringProp name="Authorization.{name}">{text}</stringProp>'
        for name, text in {"url": url, "username": "ann", "password": "secret", "mechanism": "BASIC"}.items()
    )
    entry = f'<elementProp name="" elementType="Authorization">{inner}</elementProp>'
    collection = f'<collectionProp name="AuthManager.auth_list">{entry}</collectionProp>'
    return f'<AuthManager testname="A">{collection}</AuthManager><hashTree/>'


_ENCODED = arguments(("a", "1234+Test%26+x", "false"), ("b", "1+2 %26", "true"))
_BAD = element("JSONPathAssertion", JSON_PATH="$.none")
PLANS = {
    "goes on after a failure": group(at("/1") + at("/bad") + at("/3", _BAD) + at("/4")),
    "next loop after a failure": group(at("/1") + at("/bad") + at("/3"), on_sample_error="startnextloop"),
    "login by address": group(login("http://HOST:PORT/secret") + at("/secret/1") + at("/index") + at("/secret")),
    "login without address": group(login("") + at("/x")),
    "encoded values": group(sent("/post", _ENCODED, "POST") + sent("/get", _ENCODED, "GET")),
    "arguments by method": group(sent("/put", _ENCODED, "PUT") + sent("/head", _ENCODED, "HEAD")),
    "own cookie": group(cookies("own") + at("/x") + at("/y")),
    "kept cookies": group(cookies() + at("/x") + at("/y")),
    "extracted value": group(
        at(
            "/token",
            element(
                "JSONPostProcessor",
                **{
                    "JSONPostProcessor__referenceNames": "t",
                    "JSONPostProcessor__jsonPathExprs": "$.token",
                },
            ),
        )
        + at("/use/${t}")
    ),
    "controllers": group(element("LoopController", at("/in"), LoopController__loops="3") + at("/out")),
    "once only": group(element("OnceOnlyController", at("/once")) + at("/each")),
}
# What the notes of the import say is another thing.
_NO_COOKIES = frozenset(PLANS) - {"kept cookies"}


@pytest.mark.parametrize("name", PLANS)
def test_an_import_asks_for_what_jmeter_asks_for(name: str, tmp_path: Path) -> None:
    with logging_server({"/bad": 404}) as log:
        wanted, found = run(PLANS[name], log, tmp_path)
    assert wanted
    if name == "own cookie":
        # A note says that those of the server take its place.
        assert all("own=v1" in each["cookies"] for each in [*wanted, found[0]])
    if name in _NO_COOKIES:
        wanted, found = without_cookies(wanted), without_cookies(found)
    assert found == wanted


def test_pauses_are_those_of_jmeter(tmp_path: Path) -> None:
    """A flow control with a timer below it, a timer of a sampler: the same requests, the same gaps to a tenth."""
    timer = element("ConstantTimer", ConstantTimer__delay="600")
    action = element("TestAction", timer, ActionProcessor__action="1", ActionProcessor__duration="0")
    with logging_server() as log:
        wanted, found = run(group(at("/1") + action + at("/2")), log, tmp_path)
        times = log.times
    assert [each["path"] for each in found] == [each["path"] for each in wanted]
    for first, second in pairwise(times[: len(wanted)]):
        if urlsplit(second[1]).path == "/2":
            assert second[0] - first[0] >= 0.59
