"""Reads values of a rule's inputs from the command line (`--set name=value`)."""

from __future__ import annotations

from towtank.errors import Fault, StudyError
from towtank.sizing import InputValue, Rule, RuleAnswer, answer_rule, inputs_with_defaults
from towtank.spelling import did_you_mean


def answer_for(rule: Rule, settings: list[str]) -> RuleAnswer:
    """Compute the result of a rule from texts of the form `name=value`.

    Raises
    ------
    StudyError
        If a value is missing or invalid, or an input is unknown; lists all faults.
    """
    if not rule.is_workable and rule.follows_when is None:
        message = f"must not be given: {rule.name} is advice without a formula"
        raise StudyError.of_option("--set", message)
    given, faults = _read(rule, settings)
    values = inputs_with_defaults(rule, given)
    wanted = rule.needed if rule.is_workable else rule.judged
    wrong = {fault.where for fault in faults}
    for name in wanted:
        if name not in values and f"--set {name}" not in wrong:
            quantity = rule.entry.inputs[name]
            form = ", ".join(quantity.choices) if quantity.choices else quantity.unit
            faults.append(_fault(name, f"must be given: {quantity.meaning.rstrip('.')} [{form}]"))
    if faults:
        raise StudyError(faults)
    return answer_rule(rule, values)


def _fault(name: str, message: str) -> Fault:
    return Fault.of_option(f"--set {name}", message)


def _read(rule: Rule, settings: list[str]) -> tuple[dict[str, InputValue], list[Fault]]:
    given: dict[str, InputValue] = {}
    faults = []
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        if not equals or not text.strip():
            faults.append(Fault.of_option("--set", f"must be INPUT=VALUE, got {setting!r} instead"))
        elif name not in rule.entry.inputs:
            near = did_you_mean(name, list(rule.entry.inputs))
            known = ", ".join(rule.entry.inputs) or "none"
            faults.append(_fault(name, f"must be an input of the rule ({known}), got {name!r} instead{near}"))
        elif name in given:
            faults.append(_fault(name, "must not be given twice"))
        else:
            try:
                given[name] = rule.read(name, text.strip())
            except ValueError as error:
                faults.append(_fault(name, str(error)))
    return given, faults
