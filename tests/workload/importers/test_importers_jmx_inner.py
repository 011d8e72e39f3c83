"""Elements inside properties of other elements, and elements that are in no table of the importer: each must have an
effect or a note.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jmeter_plans import element, group, request, sampler

from towtank.errors import StudyError
from towtank.workload.importers.accounting import Fate
from towtank.workload.importers.jmx.table import ELEMENTS

Importer = Callable[..., Any]
KEYS = json.loads((Path(__file__).parents[2] / "data/imports/keys/jmeter.json").read_text("utf-8"))["elements"]
_VALUES = ("true", "false", "17", "/zz", "", "http://b/x", "DIGEST")
# Properties that the element has besides the tested property.
_OWN = {
    "HTTPArgument": {"Argument.name": "a", "Argument.value": "%41", "Argument.metadata": "="},
    "Argument": {"Argument.name": "v", "Argument.value": "one"},
    "Header": {"Header.name": "X-A", "Header.value": "one"},
    "Authorization": {"Authorization.username": "ann", "Authorization.password": "one"},
    "Cookie": {"Cookie.value": "one", "Cookie.domain": "a", "Cookie.path": "/"},
    "HTTPFileArg": {"File.path": "x.bin", "File.paramname": "f"},
}

# Properties that an element must also have so that some of its other properties have an effect.
_NEEDED = {
    "HTTPArgument.use_equals": {"Argument.value": ""},
    "Cookie.domain_specified": {"Cookie.domain": ".a"},
}
_HELD = frozenset({"HTTPFileArgs.files", "Arguments.arguments", "ThreadGroup.main_controller"})


def _text(name: str, value: str) -> str:
    return f'<stringProp name="{name}">{value}</stringProp>'


def _inner(kind: str, name: str = "", value: str = "") -> str:
    """Return an element inside a property. Besides the properties that the element needs, it has the property `name`
    with the given value.
    """
    own = {**_OWN[kind], **_NEEDED.get(name, {}), name: value}
    texts = "".join(_text(key, text) for key, text in own.items() if key)
    return f'<elementProp name="n" elementType="{kind}" testname="n">{texts}</elementProp>'


def _collected(holder: str, collection: str, kind: str, inner: str) -> str:
    """Return a property that contains a collection of elements."""
    held = f'<collectionProp name="{collection}">{inner}</collectionProp>'
    return f'<elementProp name="{holder}" elementType="{kind}">{held}</elementProp>'


_MANAGERS = {
    "Argument": ("Arguments", "Arguments.arguments"),
    "Header": ("HeaderManager", "HeaderManager.headers"),
    "Authorization": ("AuthManager", "AuthManager.auth_list"),
    "Cookie": ("CookieManager", "CookieManager.cookies"),
}


def _plan(kind: str, name: str = "", value: str = "") -> str:
    """Return a plan with an element of a kind, at a place where it has an effect. The element has one property with the
    given value.
    """
    inner = _inner(kind, name, value) if kind in _OWN else ""
    inside = manager = ""
    if kind in _MANAGERS:
        tag, collection = _MANAGERS[kind]
        manager = f'<{tag} testname="M"><collectionProp name="{collection}">{inner}</collectionProp></{tag}><hashTree/>'
    elif kind == "HTTPArgument":
        inside = _collected("HTTPsampler.Arguments", "Arguments.arguments", "Arguments", inner)
        inside += _text("HTTPSampler.DO_MULTIPART_POST", "true") if name.endswith("content_type") else ""
    elif kind == "HTTPFileArg":
        inside = _collected("HTTPsampler.Files", "HTTPFileArgs.files", "HTTPFileArgs", inner)
    else:
        holder, collection, held = {
            "HTTPFileArgs": ("HTTPsampler.Files", "HTTPFileArgs.files", "HTTPFileArg"),
            "Arguments": ("HTTPsampler.Arguments", "Arguments.arguments", "HTTPArgument"),
        }[kind]
        own = _text(name, value) if name else ""
        inside = (
            _collected(holder, collection, kind, _inner(held)).removesuffix("</elementProp>") + own + "</elementProp>"
        )
    path = "/x/${v}" if kind == "Argument" else "/x"
    asked = request(path, method="POST").replace("</HTTPSamplerProxy>", f"{inside}</HTTPSamplerProxy>")
    return group(manager + asked)


def _made(text: str, import_notes: Importer) -> tuple[Any, ...]:
    try:
        found = import_notes("jmx", text)
    except StudyError as error:
        return (str(error),)
    return found.text, found.draft.findings, found.notes()


def _is_accounted_for(kind: str, name: str, plan: Callable[..., str], import_notes: Importer) -> None:
    """Assert that another value of the property changes the workload or causes a note.

    If the property is marked as noted in the table, each value must cause a note.
    """
    entry = ELEMENTS[kind].get(name)
    if entry is not None and entry.fate is Fate.HARMLESS:
        assert entry.why
        return
    made = {value: _made(plan(kind, name, value), import_notes) for value in _VALUES}
    made["absent"] = _made(plan(kind), import_notes)
    assert len({str(each) for each in made.values()}) > 1
    for value in _VALUES:
        if value and (entry is None or (entry.fate is Fate.NOTED and value not in entry.default)):
            assert any(name in what for _, what, _ in made[value][2]), value


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in sorted({*_OWN, "HTTPFileArgs", "Arguments"}) for name in KEYS[kind] if name not in _HELD],
)
def test_every_property_of_an_inner_element_is_accounted_for(kind: str, name: str, import_notes: Importer) -> None:
    _is_accounted_for(kind, name, _plan, import_notes)


def _open_plan(kind: str, name: str = "", value: str = "") -> str:
    own = _text(name, value) if name else ""
    text = (
        group(request("/x"))
        .replace("</ThreadGroup>", f"{own}</ThreadGroup>")
        .replace("ThreadGroup testname", f"{kind} testname")
    )
    text = text.replace('<stringProp name="ThreadGroup.num_threads">4</stringProp>', "")
    return text.replace("</ThreadGroup>", f"</{kind}>")


# Entries without a dot are values of `on_sample_error`, not properties.
@pytest.mark.parametrize("name", [name for name in KEYS["OpenModelThreadGroup"] if "." in name and name not in _HELD])
def test_every_property_of_an_open_group_is_accounted_for(name: str, import_notes: Importer) -> None:
    _is_accounted_for("OpenModelThreadGroup", name, _open_plan, import_notes)


@pytest.mark.parametrize("kind", sorted(set(KEYS) - set(ELEMENTS)))
@pytest.mark.parametrize("below", [False, True])
def test_an_element_that_no_table_has_is_noted(kind: str, below: bool, import_notes: Importer) -> None:
    """An element that is in no table is named in a note, whether it is beside a request or below it. Keys that all
    elements have cause no note.
    """
    made = element(kind, **{key.replace(".", "__"): "17" for key in KEYS[kind][:1]})
    text = group(sampler("/x", made) if below else made + sampler("/x"))
    notes = import_notes("jmx", text).notes()
    assert any(what.startswith(kind) for _, what, _ in notes)
    assert not any("testname" in what for _, what, _ in notes)


def test_a_sign_of_an_argument_is_noted(import_notes: Importer) -> None:
    def said(sign: str, value: str) -> list[str]:
        text = _plan("HTTPArgument", "Argument.metadata", sign).replace("%41", value)
        return [why for _, what, why in import_notes("jmx", text).notes() if what == "argument 'a'"]

    assert (said("=", ""), said("=", "1")) == ([], [])
    assert said("", "") == ["is sent with `=`; JMeter sends only the name"]
    assert said(":", "1") == ["is sent with `=`; JMeter sends ':' between the name and the value in a query"]
