"""Generates random k6 scripts with known requests.

The scripts contain no random or time-dependent values, and Towtank imports them without notes.
"""

from __future__ import annotations

import json
from random import Random

HEAD = (
    "import http from 'k6/http';\nimport exec from 'k6/execution';\nimport { check, group, sleep, fail } from 'k6';\n"
    "const base = __ENV.BASE || 'http://ADDRESS';\nconst shared = { headers: { 'X-Shared': 'all' } };\n"
    "const words = ['one', 'two words', 'a+b'];\nlet kept;\n"
    "function visit(path, params = {}) { return http.get(`${base}${path}`, { ...shared, ...params }); }\n"
    "const send = (path, body) => {\n  const res = http.post(base + path, body);\n"
    "  check(res, { sent: (r) => r.status === 200 });\n  return res;\n};\n"
)
_PATHS = (
    "/a",
    "/a/",
    "/b%20c",
    "/ä",
    "/a b",
    "/d?x=1",
    "/d?x=1&y=%26",
    "/d?x=1&x=2",
    "/d?flag",
    "/set/own",
    "/drop/own",
)
_VALUES = ("1", "two words", "a+b", "a&b=c", "50%", "x/y", "ä", "")
_METHODS = ("get", "head", "post", "put", "patch", "del")
_MISSED = "(r) => r.status === 201"


def generated(seed: int) -> str:
    """Return a k6 script with the placeholder ADDRESS. The same seed yields the same script."""
    draw = Random(seed)
    options = {"noCookiesReset": True} if draw.random() < 0.3 else {}
    first = [_once(draw)] if draw.random() < 0.3 else []
    parts = [*first, *(_work(draw, number) for number in range(draw.randint(2, 6))), "visit('/end');"]
    body = "\n".join(f"  {line}" for part in parts for line in part.split("\n"))
    return f"{HEAD}export const options = {json.dumps(options)};\nexport default function () {{\n{body}\n}}\n"


def _once(draw: Random) -> str:
    """Return a k6 statement that only the first iteration of a user executes."""
    if draw.random() < 0.5:
        return f"if (__ITER === 0) {{ {_call(draw)}; }}"
    return "if (!kept) { kept = http.get(`${base}/token`).json('token'); }\nvisit(`/kept/${kept}`);"


def _work(draw: Random, number: int) -> str:
    """Return random k6 statements with one or several requests."""
    kinds = (_plain, _plain, _group, _loop, _list, _token, _tested, _failing, _known, _batch, _addressed)
    return draw.choice(kinds)(draw, number)


def _plain(draw: Random, _: int) -> str:
    return f"{_call(draw)};" + (" sleep(0.01);" if draw.random() < 0.3 else "")


def _group(draw: Random, number: int) -> str:
    inside = " ".join(f"{_call(draw)};" for _ in range(draw.randint(1, 2)))
    return f"group('page {number}', () => {{ {inside}{' sleep(0.01);' if draw.random() < 0.3 else ''} }});"


def _loop(draw: Random, number: int) -> str:
    return f"for (let i{number} = 0; i{number} < {draw.randint(0, 3)}; i{number}++) {{ {_call(draw)}; }}"


def _list(draw: Random, number: int) -> str:
    call = draw.choice(
        ("visit(`/list/${word}`)", "send('/list', { word })", "visit('/q?w=' + encodeURIComponent(word))")
    )
    return f"for (const word of words.slice({number % 2})) {{ {call}; }}"


def _token(draw: Random, number: int) -> str:
    """Return k6 statements that store a value from a response and use it in a later request."""
    taken = draw.choice(("json('token')", "json().token", "json('id')", "headers['X-Id']", "status"))
    used = draw.choice(
        (
            f"visit(`/use/${{v{number}}}?v=${{v{number}}}`)",
            f"send('/use', {{ v: v{number} }})",
            f"visit('/use', {{ headers: {{ Authorization: `Bearer ${{v{number}}}` }} }})",
        )
    )
    return f"const v{number} = http.get(base + '/token').{taken};\n{used};"


def _tested(draw: Random, number: int) -> str:
    """Return k6 statements that end the iteration if the response has an unexpected status.

    The server returns 200. Some of the conditions expect status 201, so they are always false.
    """
    status = draw.choice((200, 200, 200, 201))
    test = draw.choice(
        (
            f"if (!check(r{number}, {{ ok: (r) => r.status === {status} }})) {{ return; }}",
            f"const ok{number} = check(r{number}, {{ ok: (r) => r.status === {status} }}); if (!ok{number}) return;",
            f"check(r{number}, {{ ok: (r) => r.status === {status} }}) || fail('no');",
            f"if (r{number}.status !== {status}) {{ console.log('no'); return; }}",
            f"if (r{number}.status != {status}) fail('no');",
            f"if (check(r{number}, {{ ok: (r) => r.status !== {status} + 1 }})) {{ {_call(draw)}; }}",
        )
    )
    return f"const r{number} = {_call(draw)};\n{test}"


def _failing(draw: Random, _: int) -> str:
    """Return a k6 check that fails. k6 continues after a failed check."""
    tests = (
        f"{{ no: {_MISSED} }}",
        "{ no: (r) => r.body.includes('nothing') }",
        "{ yes: (r) => r.status === 200, no: (r) => r.json('id') === 8 }",
        "{ no: (r) => r.headers['X-Id'] === 'other' }",
    )
    call = draw.choice(("visit('/bad')", "visit('/token')", "http.post(`${base}/token`, { x: 'x' })"))
    return f"check({call}, {draw.choice(tests)});"


def _known(draw: Random, number: int) -> str:
    """Return an `if` statement of k6 whose condition is known before the run."""
    condition = draw.choice(("words.length > 2", "words[0] === 'two'", "!words.length", f"{number} % 2 === 0", "true"))
    return f"if ({condition}) {{ {_call(draw)}; }} else {{ {_call(draw)}; }}"


def _batch(draw: Random, number: int) -> str:
    """Return a k6 batch with a single request. With more requests, their order would be undefined."""
    entry = draw.choice(
        (
            "['GET', `${base}/batch`, null, { headers: { 'X-B': '1' } }]",
            "{ method: 'POST', url: base + '/batch', body: { a: 'b c' } }",
            "`${base}/batch`",
        )
    )
    return f"const b{number} = http.batch([{entry}]);\ncheck(b{number}[0], {{ ok: (r) => r.status === 200 }});"


def _addressed(draw: Random, number: int) -> str:
    """Return a k6 request whose URL is built from environment variables or chosen from a list."""
    url = draw.choice(
        (
            f"`${{__ENV.SCHEME{number} || 'http'}}://ADDRESS/parts`",
            f"`${{__ENV.ROOT{number} || 'http://ADDRESS/root'}}/parts?a=${{__ENV.A{number} || 'c'}}`",
            f"`http://ADDRESS${{__ENV.BELOW{number} || '/below'}}/parts`",
            f"['http://ADDRESS/data/{number}?a=b', 'http://ADDRESS/data/{number}?a=b'][Math.floor(Math.random() * 2)]",
        )
    )
    return f"http.get({url});"


def _call(draw: Random) -> str:
    method, path = draw.choice(_METHODS), draw.choice(_PATHS)
    url = draw.choice((f"`${{base}}{path}`", f"base + '{path}'"))
    params = draw.choice(("", "", _params(draw)))
    if method in {"get", "head"}:
        return f"http.{method}({', '.join(filter(None, (url, params)))})"
    body = draw.choice((_form, _json, _text, lambda _: ("null", ""), lambda _: ("", "")))(draw)
    params = body[1] or params
    given = [url, body[0] or ("null" if params else ""), params]
    return f"http.{method}({', '.join(filter(None, given))})"


def _params(draw: Random) -> str:
    return draw.choice(
        (
            "shared",
            "{ headers: { 'X-One': 'a b', 'x-two': '2' } }",
            "{ tags: { name: 'named' } }",
            "{ cookies: { by: { value: 'hand', replace: true }, own: { value: 'v w', replace: true } } }",
            "Object.assign({}, shared, { timeout: '5s' })",
        )
    )


def _form(draw: Random) -> tuple[str, str]:
    fields = {name: draw.choice(_VALUES) for name in draw.sample(["p", "q", "r"], draw.randint(0, 3))}
    lists = {"many": [draw.choice(_VALUES), draw.choice(_VALUES)]} if draw.random() < 0.2 else {}
    return json.dumps({**fields, **lists, "n": draw.choice((1, 2.5, True))}, ensure_ascii=False), ""


def _json(draw: Random) -> tuple[str, str]:
    value = draw.choice(({}, [], {"a": [1, "x", None], "b": {"c": True}}, ["ä", "${x}"], {"deep": {"price": 1.5}}))
    media = draw.choice(("application/json", "application/json; charset=utf-8"))
    return f"JSON.stringify({json.dumps(value)})", f"{{ headers: {{ 'Content-Type': '{media}' }} }}"


def _text(draw: Random) -> tuple[str, str]:
    text, media = draw.choice((("some text", "text/plain"), ("a=1&b=two+words", "application/x-www-form-urlencoded")))
    return f"'{text}'", f"{{ headers: {{ 'Content-Type': '{media}' }} }}"
