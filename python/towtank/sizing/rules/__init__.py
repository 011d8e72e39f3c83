"""Evaluates rules of thumb, which are stored as data with formula, units, valid range, source and worked examples.

`load_rules` reads the shipped rules and the user's rules, `answer_rule` evaluates a rule step by step, and `advise`
compares a system and its configuration sheet with all rules that apply to the system.
"""

from towtank.sizing.rules.examples import example_outcome, inputs_with_defaults
from towtank.sizing.rules.loading import Rules, check_rules, load_rules, rules_beside
from towtank.sizing.rules.rule import Rule, RuleAnswer, answer_rule
from towtank.sizing.rules.sheet import check_sheet
