"""Rules of thumb as data: one entry for each, with formula, units, range, source and worked examples.

`load_rules` reads those that ship and those of the user, `answer` works one out step by step, `advise` holds a
system and its configuration sheet against all that can be bound to it.
"""

from towtank.size.rules.examples import outcome, with_defaults
from towtank.size.rules.loading import Rules, check_rules, load_rules, rules_beside
from towtank.size.rules.rule import Answer, Rule, answer
from towtank.size.rules.sheet import check_sheet

__all__ = [
    "Answer",
    "Rule",
    "Rules",
    "answer",
    "check_rules",
    "check_sheet",
    "load_rules",
    "outcome",
    "rules_beside",
    "with_defaults",
]
