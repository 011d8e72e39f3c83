"""Generates random JMeter test plans with known requests.

The plans contain no random or time-dependent values, and Towtank imports them without notes.
"""

from __future__ import annotations

from random import Random
from xml.sax.saxutils import escape

from jmeter_plans import arguments, element, group, request

_PATHS = (
    "/a",
    "/a/",
    "/b%20c",
    "/secret/1",
    "/secret",
    "/d?x=1",
    "/d?x=1&y=%26",
    "/set/own",
    "/set/other",
    "/drop/own",
)
_VALUES = ("1", "two words", "a+b", "a&b=c", "50%", "x/y", "(z)", "ä", "")
_ENCODED = ("1", "two+words", "a%2Bb", "x%2Fy", "%C3%A4")
# Variables at the beginning of request paths, with their values.
_BEGINNINGS = {"slash": "/s", "plain": "p", "empty": "", "slashes": "/s/", "whole": "http://HOST:PORT/w"}
_BODIES = (('{"a": [1, "x"]}', "application/json"), ("{}", "application/json"), ("plain text", "text/plain"))


def generated(seed: int) -> str:
    """Return a JMeter plan of one thread group, with the placeholders HOST and PORT. The same seed yields the same
    plan.
    """
    draw = Random(seed)
    parts = [_cookies(draw), _headers(draw, "outer"), _logins(draw), _variables()]
    parts += [element("OnceOnlyController", _at(draw.choice(_PATHS)))] if draw.random() < 0.3 else []
    parts += [_work(draw) for _ in range(draw.randint(2, 5))]
    action = draw.choice([{}, {"on_sample_error": "continue"}, {"on_sample_error": "startnextloop"}])
    same = draw.choice([{}, {"same_user_on_next_iteration": "true"}, {"same_user_on_next_iteration": "false"}])
    return group("".join(parts), **action, **same)


def _work(draw: Random) -> str:
    """Return a JMeter sampler, or a controller with one or two samplers."""
    kind = draw.choice(["sampler", "sampler", "loop", "simple", "page", "token"])
    inside = "".join(_sampler(draw) for _ in range(draw.randint(1, 2)))
    if kind == "loop":
        return element("LoopController", inside, LoopController__loops=str(draw.randint(1, 3)))
    if kind == "simple":
        return element("GenericController", _headers(draw, "inner") + inside)
    if kind == "page":
        return element("TransactionController", inside)
    if kind == "token":
        spec = {"referenceNames": "t", "jsonPathExprs": "$.token", "match_numbers": "1", "defaultValues": "none"}
        extractor = element("JSONPostProcessor", **{f"JSONPostProcessor__{key}": text for key, text in spec.items()})
        condition = element("IfController", _at("/if/${t}"), IfController__condition='"${t}" != ""')
        return _at("/token", extractor) + _at("/use/${t}?t=${t}") + (condition if draw.random() < 0.5 else "")
    return inside


def _sampler(draw: Random) -> str:
    """Return a sampler that sends one request. Some samplers fail, because of the response status or an assertion."""
    if draw.random() < 0.15:
        return _at("/bad")
    below = element("JSONPathAssertion", JSON_PATH="$.none") if draw.random() < 0.15 else ""
    method = draw.choice(["GET", "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"])
    path = draw.choice(_PATHS) + ("" if draw.random() < 0.8 else "/${v}")
    path = f"${{{draw.choice(list(_BEGINNINGS))}}}{path}" if draw.random() < 0.2 else path
    if method in {"POST", "PUT", "PATCH"} and draw.random() < 0.4:
        text, media = draw.choice(_BODIES)
        return _at(path, header_manager([("Content-Type", media)]) + below, _raw(text), method=method)
    names = draw.sample(["p", "q", "r"], draw.randint(0, 3))
    given = [(name, *_value(draw)) for name in names]
    return _at(path, below, arguments(*((name, escape(text), flag) for name, text, flag in given)), method=method)


def _value(draw: Random) -> tuple[str, str]:
    encode = draw.random() < 0.6
    return draw.choice(_VALUES if encode else _ENCODED), str(encode).lower()


def _raw(text: str) -> str:
    inside = arguments(("", escape(text), "false"))
    return f'{inside}<boolProp name="HTTPSampler.postBodyRaw">true</boolProp>'


def _at(path: str, below: str = "", inside: str = "", method: str = "GET") -> str:
    text = request(path, below, host="HOST", port="PORT", method=method)
    return text.replace("</HTTPSamplerProxy>", f"{inside}</HTTPSamplerProxy>", 1)


def header_manager(headers: list[tuple[str, str]]) -> str:
    entries = "".join(
        f'<elementProp name="" elementType="Header"><stringProp name="Header.name">{name}</stringProp>'
        f'<stringProp name="Header.value">{value}</stringProp></elementProp>'
        for name, value in headers
    )
    collection = f'<collectionProp name="HeaderManager.headers">{entries}</collectionProp>'
    return f'<HeaderManager testname="H">{collection}</HeaderManager><hashTree/>'


def _headers(draw: Random, where: str) -> str:
    if draw.random() < 0.4:
        return ""
    headers = [("X-Both", where), (f"X-{where}", "${v}")]
    return header_manager(draw.sample(headers, draw.randint(1, 2)))


def cookie_manager(own: dict[str, str], **properties: str) -> str:
    """Return the XML of a JMeter cookie manager. `own` maps names of cookies to their paths."""
    entries = ""
    for name, path in own.items():
        texts = {"value": f"mine-{name}", "domain": "HOST", "path": path}
        inner = "".join(f'<stringProp name="Cookie.{key}">{text}</stringProp>' for key, text in texts.items())
        inner += "".join(f'<boolProp name="Cookie.{key}_specified">true</boolProp>' for key in ("path", "domain"))
        entries += f'<elementProp name="{name}" elementType="Cookie" testname="{name}">{inner}</elementProp>'
    flags = "".join(f'<boolProp name="CookieManager.{key}">{text}</boolProp>' for key, text in properties.items())
    collection = f'<collectionProp name="CookieManager.cookies">{entries}</collectionProp>'
    return f'<CookieManager testname="C">{collection}{flags}</CookieManager><hashTree/>'


def _cookies(draw: Random) -> str:
    if draw.random() < 0.25:
        return ""
    own = {name: path for name, path in (("own", "/"), ("deep", "/secret")) if draw.random() < 0.5}
    flags = {name: draw.choice(["true", "false"]) for name in ("clearEachIteration", "controlledByThreadGroup")}
    return cookie_manager(own, **flags)


def login_manager(url: str, user: str = "ann") -> str:
    texts = {"url": url, "username": user, "password": "secret", "mechanism": "BASIC"}
    inner = "".join(f'<stringProp name="Authorization.{name}">{text}</stringProp>' for name, text in texts.items())
    entry = f'<elementProp name="" elementType="Authorization">{inner}</elementProp>'
    collection = f'<collectionProp name="AuthManager.auth_list">{entry}</collectionProp>'
    return f'<AuthManager testname="A">{collection}</AuthManager><hashTree/>'


def _logins(draw: Random) -> str:
    url = draw.choice([None, "", "http://HOST:PORT/secret"])
    return "" if url is None else login_manager(url)


def _variables() -> str:
    entries = "".join(
        f'<elementProp name="{name}" elementType="Argument"><stringProp name="Argument.name">{name}</stringProp>'
        f'<stringProp name="Argument.value">{value}</stringProp><stringProp name="Argument.metadata">=</stringProp>'
        "</elementProp>"
        for name, value in {"v": "val", **_BEGINNINGS}.items()
    )
    collection = f'<collectionProp name="Arguments.arguments">{entries}</collectionProp>'
    return f'<Arguments testname="U">{collection}</Arguments><hashTree/>'
