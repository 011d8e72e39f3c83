"""`towtank rules`: lists rules of thumb, and computes their results from numbers of the user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from towtank.sizing import Rule, Rules

RuleFiles = Annotated[
    list[Path] | None, typer.Option("--rules", metavar="FILE", help="File or folder with further rules; repeatable.")
]


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of the rule to show; default: list all rules.")
    ] = None,
    *,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="INPUT=VALUE", help='Value of an input, for example users=400 or ram="8 GiB"; repeatable.'
        ),
    ] = None,
    topic: Annotated[str | None, typer.Option(help="Only list rules of this topic.")] = None,
    rules: RuleFiles = None,
    json: Annotated[bool, typer.Option("--json", help="Print the rules as JSON.")] = False,
) -> None:
    """List all rules of thumb, show one rule with its source and examples, or compute its result step by step."""
    from towtank.cli.options import OptionCheck  # noqa: PLC0415
    from towtank.cli.output import print_json, printer  # noqa: PLC0415
    from towtank.cli.rules_table import listed, shown, worked_out  # noqa: PLC0415
    from towtank.sizing import load_rules, rule_document, rules_document  # noqa: PLC0415

    known = load_rules(rules, name)
    if name is None:
        options = OptionCheck()
        if given:
            options.fault("--set", "must be given with the name of a rule")
        if topic is not None:
            options.one_of("--topic", topic, tuple(known.topics()))
        options.refuse_faults()
        chosen = {topic: known.topics()[topic]} if topic is not None else known.topics()
        if json:
            print_json(rules_document(chosen))
            return
        for line in listed(chosen):
            printer().print(line, markup=False)
        return
    rule = _named(known, name, rules)
    answer = None
    if given:
        from towtank.cli.rules_values import answer_for  # noqa: PLC0415

        answer = answer_for(rule, given)
    if json:
        print_json(rule_document(rule, answer))
        return
    for line in worked_out(rule, answer) if answer is not None else shown(rule):
        printer().print(line, markup=False)


def _named(known: Rules, name: str, files: list[Path] | None) -> Rule:
    """Return the rule with the given name; the error for an unknown name suggests the most similar name."""
    from towtank.errors import StudyError  # noqa: PLC0415
    from towtank.sizing import load_rules  # noqa: PLC0415
    from towtank.spelling import did_you_mean  # noqa: PLC0415

    if name in known:
        return known[name]
    near = did_you_mean(name, list(load_rules(files)))
    message = f"must be the name of a rule (`towtank rules` lists them), got {name!r} instead{near}"
    raise StudyError.of_option("NAME", message)
