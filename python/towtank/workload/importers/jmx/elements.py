"""Converts JMeter timers, extractors and assertions to pauses, extractions and checks."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from towtank.workload import expressions
from towtank.workload.importers.draft import ImportDraft, Pause, identifier, seconds
from towtank.workload.importers.expected import Expected
from towtank.workload.importers.jmx.texts import Texts
from towtank.workload.importers.jmx.tree import Item

Extracts = dict[str, dict[str, str | bool]]
"""Extractions of a request by variable, in the form of the workload file."""

# Bits of the property `Assertion.test_type`.
_MATCH, _CONTAINS, _NOT, _EQUALS, _SUBSTRING, _OR = 1, 2, 4, 8, 16, 32
_META = re.compile(r"[.^$*+?{}\[\]\\|()]")
_CLASS = re.compile(r"([1-5])(?:\\d\\d|\\d\{2\}|\.\.|\[0-9\]\[0-9\]|xx)", re.IGNORECASE)


class Elements:
    """Converts elements that apply to samplers: timers, extractors and assertions."""

    def __init__(self, draft: ImportDraft, texts: Texts) -> None:
        self.draft = draft
        self.texts = texts

    def _note(self, item: Item, why: str) -> None:
        self.draft.notes.add(item.place, f"{item.tag} {item.name!r}", why)

    def pause(self, timer: Item) -> Pause | None:
        """Return the pause of a timer. If a workload cannot represent the timer, add a note and return None."""
        if timer.tag == "ConstantTimer":
            return seconds(self._time(timer, "ConstantTimer.delay", 0))
        if timer.tag not in {"UniformRandomTimer", "GaussianRandomTimer", "PoissonRandomTimer"}:
            timer.left_out = True
            self._note(timer, "left out: a workload has no equivalent pause")
            return None
        offset, spread = self._time(timer, "ConstantTimer.delay", 0), self._time(timer, "RandomTimer.range", 0)
        if spread <= 0:
            return seconds(offset)
        if timer.tag == "UniformRandomTimer":
            return {"uniform": {"min": seconds(offset), "max": seconds(offset + spread)}}
        if timer.tag == "PoissonRandomTimer":
            # A Poisson-distributed number of milliseconds with mean L has the standard deviation sqrt(L). A normal
            # distribution with this mean and standard deviation replaces it.
            self._note(
                timer, "is approximated by a normal distribution, whose variance in ms² is the Poisson mean in ms"
            )
            mean, sd = offset + spread, math.sqrt(spread * 1000) / 1000
        else:
            mean, sd = offset, spread
            if mean < 3 * sd:
                self._note(timer, "for negative times, JMeter uses the absolute value; the workload draws again")
        return {"normal": {"mean": seconds(mean), "sd": seconds(max(sd, 0.001)), "min": "0 s"}}

    def _time(self, timer: Item, name: str, default: float) -> float:
        what = f"{timer.tag} {timer.name!r}"
        return max(self.texts.number(timer.text(name), timer.place, what, default), 0.0) / 1000

    def extract(self, item: Item) -> Extracts:
        """Return the extractions of a JMeter extractor, by variable. An extractor without a counterpart
        becomes a note.
        """
        if item.tag == "RegexExtractor":
            return self._regex(item)
        if item.tag == "BoundaryExtractor":
            return self._boundary(item)
        if item.tag == "JSONPostProcessor":
            return self._json(item)
        self._note(item, "left out: only extractors with a regular expression, a boundary or a JSON path are supported")
        return {}

    def _regex(self, item: Item) -> Extracts:
        name, pattern = item.text("RegexExtractor.refname"), item.text("RegexExtractor.regex")
        where = item.text("RegexExtractor.useHeaders", "false").lower()
        # These properties are read before the returns below, so that they count as read even if the extractor is
        # omitted.
        template, number = item.text("RegexExtractor.template", "$1$"), item.text("RegexExtractor.match_number")
        default = self._default(item, "RegexExtractor")
        if where == "code":
            return self._named(item, name, {"status": True}, default)
        if where in {"true", "request_headers", "url", "message"}:
            header = re.fullmatch(r"\^?([A-Za-z-]+):\s*(?:\\s[*+])?\(\.[*+]\??\)\$?", pattern)
            if where == "true" and header is not None:
                return self._named(item, name, {"header": header.group(1)}, default)
            self._note(
                item,
                "left out: only the body, the status and whole headers (`Name: (.+)`) of a response can be extracted",
            )
            return {}
        groups = re.findall(r"\$(\d+)\$", template)
        if len(groups) > 1:
            self._note(item, "only one group is extracted, not a text of several groups")
        elif groups and template != f"${groups[0]}$":
            self._note(item, "the group is extracted without the text around it in the template")
        try:
            pattern = expressions.capturing_regex(_one_group(pattern, int(groups[0]) if groups else 1))
        except ValueError as error:
            self._note(item, str(error))
            return {}
        self._behind_slash(name, pattern.partition("(")[0])
        return self._named(item, name, {"regex": pattern, **self._pick(item, number)}, default)

    def _boundary(self, item: Item) -> Extracts:
        left, right = item.text("BoundaryExtractor.lboundary"), item.text("BoundaryExtractor.rboundary")
        pattern = f"{re.escape(left)}(.*?){re.escape(right)}"
        pick = self._pick(item, item.text("BoundaryExtractor.match_number"))
        name = item.text("BoundaryExtractor.refname")
        self._behind_slash(name, left)
        return self._named(item, name, {"regex": pattern, **pick}, self._default(item, "BoundaryExtractor"))

    def _behind_slash(self, name: str, before: str) -> None:
        """Record a variable whose value follows a slash in the response. A path that begins with this variable needs a
        slash before it.
        """
        if before.endswith("/"):
            self.texts.behind_slash.add(name.strip())

    def _json(self, item: Item) -> Extracts:
        found: Extracts = {}
        names = item.text("JSONPostProcessor.referenceNames").split(";")
        paths = item.text("JSONPostProcessor.jsonPathExprs").split(";")
        numbers = item.text("JSONPostProcessor.match_numbers").split(";")
        defaults = item.text("JSONPostProcessor.defaultValues").split(";")
        for index, (name, path) in enumerate(zip(names, paths, strict=False)):
            try:
                path = expressions.json_path(path.strip())  # noqa: PLW2901 - the same path in canonical form
            except ValueError as error:
                self._note(item, str(error))
                continue
            number = numbers[index] if index < len(numbers) else ""
            default = defaults[index] if index < len(defaults) else ""
            found.update(self._named(item, name, {"json": path, **self._pick(item, number)}, default))
        return found

    def _default(self, item: Item, prefix: str) -> str | None:
        """Return the value of the variable if an extractor finds nothing; None if it keeps its value."""
        default = item.text(f"{prefix}.default")
        return "" if item.flag(f"{prefix}.default_empty_value") else default or None

    def _pick(self, item: Item, number: str) -> dict[str, str]:
        number = number.strip()
        if number == "1":
            return {}
        # Without this property the match number is 0, which selects a random match (getMatchNumber of JMeter 5.5).
        if number in {"0", ""}:
            return {"pick": "random"}
        why = (
            "numbered variables for all matches are not supported"
            if number == "-1"
            else f"match {number} cannot be selected"
        )
        self._note(item, f"{why}: the first match is extracted")
        return {}

    def _named(self, item: Item, name: str, source: Mapping[str, str | bool], default: str | None) -> Extracts:
        name = name.strip()
        if not name:
            self._note(item, "left out: it names no variable")
            return {}
        if default is None:
            self._note(item, "if nothing is found, the variable becomes empty; JMeter keeps its value")
        self.texts.assigned.add(name)
        self.texts.extracted.add(name)
        missing: dict[str, str | bool] = {"required": False} if default is None else {"default": default}
        return {identifier(name, "value"): {**source, **missing}}

    def check(self, item: Item, check: Expected) -> None:
        """Add an assertion to the check of a request. An assertion without a counterpart becomes a note."""
        if item.tag == "ResponseAssertion":
            self._response(item, check)
        elif item.tag == "JSONPathAssertion":
            self._json_path(item, check)
        elif item.tag == "DurationAssertion":
            limit = item.text("DurationAssertion.duration")
            self._note(
                item,
                f"left out: time limits are objectives of the study (`p95 < {limit} ms`), not checks of a response",
            )
        else:
            self._note(item, "left out: assertions of this kind are not supported")

    def _response(self, item: Item, check: Expected) -> None:
        field = item.text("Assertion.test_field").rpartition(".")[2]
        kind = int(self.texts.number(item.text("Assertion.test_type"), item.place, "Assertion.test_type", _SUBSTRING))
        # The name of this property in JMeter lacks the first `t` of `Assertion`.
        wanted = [each.text for each in item.collection("Asserion.test_strings")]
        if field == "response_code" and not kind & _NOT:
            statuses = self._good(item, [status for text in wanted for status in self._statuses(item, text)])
            if statuses:
                check.status(*statuses)
            if len(wanted) > 1 and not kind & _OR:
                self._note(item, "JMeter requires all of these statuses; the workload requires one of them")
        elif field == "response_data":
            self._body(item, kind, wanted, check)
        else:
            self._note(item, f"{field}{' with not' if kind & _NOT else ''} cannot be checked")

    def _statuses(self, item: Item, text: str) -> list[int | str]:
        statuses: list[int | str] = []
        for each in self.texts.static(text).strip("^$() ").split("|"):
            whole_class = _CLASS.fullmatch(each)
            if re.fullmatch(r"[1-5]\d\d", each):
                statuses.append(int(each))
            elif whole_class is not None:
                statuses.append(f"{whole_class.group(1)}xx")
            else:
                self._note(item, f"{each!r} is neither a status nor a class such as 2xx")
        return statuses

    def _good(self, item: Item, statuses: list[int | str]) -> list[int | str]:
        """Return the asserted status codes below 400, or all if the assertion ignores the status.

        In JMeter, a response with a status of 400 or more fails unless the assertion ignores the status.
        """
        if item.flag("Assertion.assume_success"):
            return statuses
        good = [status for status in statuses if int(str(status)[0]) < 4]
        if len(good) < len(statuses):
            self._note(item, "a status of 400 or above remains a failure, as in JMeter without `Ignore status`")
        return good

    def _body(self, item: Item, kind: int, wanted: list[str], check: Expected) -> None:
        negated = bool(kind & _NOT)
        plain = bool(kind & _SUBSTRING) or (not kind & _MATCH and not any(_META.search(text) for text in wanted))
        if kind & _EQUALS:
            self._note(item, "instead of equality, the check requires that the body contains this text")
            plain = True
        if kind & _OR and negated and len(wanted) > 1:
            self._note(item, "left out: the absence of one of several texts cannot be checked")
            return
        if kind & _OR and len(wanted) > 1:
            joined = "|".join(re.escape(text) if plain else text for text in wanted)
            wanted, plain = [f"(?:{joined})"], False
        if plain:
            for text in wanted:
                check.text(self.texts.template(text, item.place), negated=negated)
            return
        for text in map(self.texts.static, wanted):
            pattern = f"^(?:{text})$" if kind & _MATCH else text
            if "${" in text:
                self._note(item, "left out: a regular expression cannot contain variables")
                continue
            try:
                expressions.regex(pattern)
            except ValueError as error:
                self._note(item, str(error))
                continue
            check.regex(pattern, negated=negated)

    def _json_path(self, item: Item, check: Expected) -> None:
        wanted, validated = item.text("EXPECTED_VALUE"), item.flag("JSONVALIDATION")
        inverted, regex = item.flag("INVERT"), item.flag("ISREGEX", default=True)
        value = wanted if validated else None
        if inverted or (value is not None and regex and _META.search(value)):
            item.text("JSON_PATH")
            self._note(item, "left out: only equal values and existing paths can be checked")
            return
        try:
            path = expressions.json_path(item.text("JSON_PATH").strip())
        except ValueError as error:
            self._note(item, str(error))
            return
        check.json(path, None if value is None else self.texts.template(value, item.place))


def _one_group(pattern: str, number: int) -> str:
    """Return a regular expression in which only one group captures text; group 0 is the whole match."""
    written, count, index, in_class = "", 0, 0, False
    while index < len(pattern):
        char = pattern[index]
        if char == "\\":
            written += pattern[index : index + 2]
            index += 2
            continue
        in_class = (in_class or char == "[") and char != "]"
        written += char
        if char == "(" and not in_class and pattern[index + 1 : index + 2] != "?":
            count += 1
            written += "" if count == number else "?:"
        index += 1
    if number > count:
        raise ValueError(f"must have the group {number} that the template names, got {count} groups in {pattern!r}")
    return written
