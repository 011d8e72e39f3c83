"""Builds JMeter test plans as XML text."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape


def sampler(path: str, below: str = "") -> str:
    return (
        f'<HTTPSamplerProxy testname="{path}"><stringProp name="HTTPSampler.path">{path}</stringProp>'
        f'<stringProp name="HTTPSampler.domain">a</stringProp></HTTPSamplerProxy><hashTree>{below}</hashTree>'
    )


def element(tag: str, below: str = "", **properties: str) -> str:
    inner = "".join(
        f'<stringProp name="{name.replace("__", ".")}">{text}</stringProp>' for name, text in properties.items()
    )
    return f'<{tag} testname="{tag}">{inner}</{tag}><hashTree>{below}</hashTree>'


def plan(below: str) -> str:
    group = '<ThreadGroup testname="G"><stringProp name="ThreadGroup.num_threads">1</stringProp></ThreadGroup>'
    inner = f'<TestPlan testname="P"/><hashTree>{group}<hashTree>\n{below}\n</hashTree></hashTree>'
    return f"<jmeterTestPlan><hashTree>{inner}</hashTree></jmeterTestPlan>"


def group(below: str, **properties: str) -> str:
    inner = "".join(f'<stringProp name="ThreadGroup.{name}">{text}</stringProp>' for name, text in properties.items())
    inner += '<stringProp name="ThreadGroup.num_threads">4</stringProp>'
    whole = f'<ThreadGroup testname="G">{inner}</ThreadGroup><hashTree>{below}</hashTree>'
    return f'<jmeterTestPlan><hashTree><TestPlan testname="P"/><hashTree>{whole}</hashTree></hashTree></jmeterTestPlan>'


def request(path: str, below: str = "", host: str = "a", **properties: str) -> str:
    given = {"path": path, "domain": host, "use_keepalive": "true", **properties}
    inner = "".join(
        f'<stringProp name="HTTPSampler.{name}">{escape(text)}</stringProp>' for name, text in given.items()
    )
    return f'<HTTPSamplerProxy testname="{escape(path)}">{inner}</HTTPSamplerProxy><hashTree>{below}</hashTree>'


def arguments(*values: tuple[str, str, str]) -> str:
    inner = "".join(
        f'<elementProp name="{name}" elementType="HTTPArgument"><boolProp name="HTTPArgument.always_encode">{encode}'
        f'</boolProp><stringProp name="Argument.name">{name}</stringProp><stringProp name="Argument.value">{value}'
        '</stringProp><stringProp name="Argument.metadata">=</stringProp></elementProp>'
        for name, value, encode in values
    )
    collection = f'<collectionProp name="Arguments.arguments">{inner}</collectionProp>'
    return f'<elementProp name="HTTPsampler.Arguments" elementType="Arguments">{collection}</elementProp>'


def post(path: str, inside: str, method: str = "POST") -> str:
    return request(path, method=method).replace("</HTTPSamplerProxy>", f"{inside}</HTTPSamplerProxy>")


def assertion(field: str, kind: int, *texts: str) -> str:
    """Return a response assertion. `kind` is a sum of flags: 1 match, 2 contains, 4 not, 8 equals, 16 substring, 32
    or.
    """
    inner = "".join(f'<stringProp name="{number}">{text}</stringProp>' for number, text in enumerate(texts))
    return (
        f'<ResponseAssertion testname="A"><collectionProp name="Asserion.test_strings">{inner}</collectionProp>'
        f'<stringProp name="Assertion.test_field">Assertion.{field}</stringProp>'
        f'<intProp name="Assertion.test_type">{kind}</intProp></ResponseAssertion><hashTree/>'
    )


# Elements whose editor class in JMeter is not called `<element>Gui`.
_EDITORS = {
    "CookieManager": "CookiePanel",
    "AuthManager": "AuthPanel",
    "HeaderManager": "HeaderPanel",
    "ResponseAssertion": "AssertionGui",
}

_DEFAULTS = 'guiclass="HttpDefaultsGui" testclass="ConfigTestElement" testname'


def whole(text: str, loops: int) -> str:
    """Return a complete plan that JMeter can read, with `loops` iterations of the thread group."""
    classed = re.sub(
        r'<(\w+) testname="',
        lambda found: (
            f'<{found[1]} guiclass="{_EDITORS.get(found[1], found[1] + "Gui")}" testclass="{found[1]}" testname="'
        ),
        text,
    )
    classed = classed.replace('guiclass="HttpDefaultsGui" testname', _DEFAULTS)
    controller = (
        '<elementProp name="ThreadGroup.main_controller" elementType="LoopController">'
        '<boolProp name="LoopController.continue_forever">false</boolProp>'
        f'<stringProp name="LoopController.loops">{loops}</stringProp></elementProp>'
    )
    users = '<stringProp name="ThreadGroup.num_threads">4</stringProp>'
    one = '<stringProp name="ThreadGroup.num_threads">1</stringProp>'
    classed = classed.replace("</ThreadGroup>", f"{controller}</ThreadGroup>").replace(users, one)
    return classed.replace("<jmeterTestPlan>", '<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.5">')
