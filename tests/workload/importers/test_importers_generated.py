"""Random interface descriptions and access logs.

No tool sends the requests of these files for comparison. So the expected requests are generated together with the
files.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

Importer = Callable[..., Any]
# Number of generated files. Nightly runs use more files.
GENERATED = int(os.environ.get("TOWTANK_PLANS", "20"))
_VALUES = ("1", "two words", "a&b=c", "ä", "x/y", "")
_MEDIA = "application/x-www-form-urlencoded"


def _operation(draw: Random, path: str, method: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a random operation of an interface description, and the request that this operation describes."""
    name = draw.choice(("plain", "a b", "ü"))
    wanted: dict[str, Any] = {method: path.replace("{id}", {"plain": "plain", "a b": "a%20b", "ü": "%C3%BC"}[name])}
    parameters = [{"name": "id", "in": "path", "required": True, "example": name}] if "{id}" in path else []
    for place, key in (("query", "query"), ("header", "headers")):
        for each in draw.sample(("X-A", "X-B", "X-C"), draw.randint(0, 2)):
            value = draw.choice(_VALUES[:4]) if place == "query" else draw.choice(("1", "a b"))
            # A request must contain the example, the default, or the first listed value of the parameter.
            how = draw.choice(({"example": value}, {"schema": {"default": value}}, {"schema": {"enum": [value, "z"]}}))
            parameters.append({"name": each, "in": place, "required": True, **how})
            wanted.setdefault(key, {})[each] = value
    operation: dict[str, Any] = {"parameters": parameters, "responses": {"200": {"description": "good"}}}
    if method in {"post", "put", "patch"} and draw.random() < 0.7:
        body: Any = draw.choice(({}, [], {"a": [1, "x", None]}, {"b": "${no}"}))
        media, key = draw.choice((("application/json", "json"), (_MEDIA, "form")))
        body = body if key == "json" else {"p": draw.choice(_VALUES), "q": "2"}
        operation["requestBody"] = {"content": {media: {"example": body}}}
        wanted[key] = json.loads(json.dumps(body).replace("${", "$${"))
    return operation, {**wanted, "check": {"status": 200}}


@pytest.mark.parametrize("seed", range(GENERATED))
def test_a_generated_description_becomes_the_requests_that_it_describes(seed: int, import_text: Importer) -> None:
    draw = Random(seed)
    paths: dict[str, dict[str, Any]] = {}
    wanted = []
    for number in range(draw.randint(1, 4)):
        path = f"/p{number}{draw.choice(('', '/', '/{id}', '/{id}/x'))}"
        for method in draw.sample(("get", "post", "put", "patch", "delete", "head"), draw.randint(1, 3)):
            operation, request = _operation(draw, path, method)
            paths.setdefault(path, {})[method] = operation
            wanted.append({**request, "name": f"{method.upper()} {path}"})
    found = import_text("openapi", json.dumps({"openapi": "3.1.0", "paths": paths}), "api.json").requests()
    key = json.dumps
    assert sorted(key(step, sort_keys=True) for step in found) == sorted(key(step, sort_keys=True) for step in wanted)


@pytest.mark.parametrize("seed", range(GENERATED))
def test_a_generated_log_becomes_a_mix_of_its_requests(seed: int, import_text: Importer) -> None:
    """Each page without a number in its path becomes a transaction; its weight is the page's fraction of the log."""
    draw = Random(seed)
    pages = draw.sample(
        ("GET /", "GET /cart", "GET /cart/", "GET /help?topic=one", "POST /cart", "DELETE /cart", "HEAD /b%20c"), 4
    )
    second, lines, wanted = 0, [], Counter[str]()
    for client in range(draw.randint(1, 3)):
        for _ in range(draw.randint(3, 8)):
            second += draw.randint(3, 20)
            page = draw.choice(pages)
            wanted[page] += 1
            time = f"{10 + second // 3600}:{second // 60 % 60:02}:{second % 60:02}"
            lines.append(f'10.0.0.{client} - - [02/Mar/2026:{time} +0000] "{page} HTTP/1.1" 200 5 "-" "Browser"')
    workload = import_text("accesslog", "\n".join(lines) + "\n", "access.log").workload
    mix = workload["groups"]["users"]["loop"]["mix"]
    found = {}
    for name, (step,) in workload["transactions"].items():
        method = next(key for key in ("get", "post", "delete", "head") if key in step)
        query = "&".join(f"{key}={value}" for key, value in step.get("query", {}).items())
        found[f"{method.upper()} {step[method]}{f'?{query}' if query else ''}"] = mix[name]
    total = sum(wanted.values())
    assert found == {page: pytest.approx(100 * count / total, abs=1e-3) for page, count in wanted.items()}
