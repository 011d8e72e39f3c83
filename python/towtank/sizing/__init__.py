"""Sizing: ratings of machines, the hardware that a load needs, and rules of thumb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.sizing.asking import size_source as size_source
    from towtank.sizing.asking import why_no_source as why_no_source
    from towtank.sizing.basis import MODEL_CHOICES as MODEL_CHOICES
    from towtank.sizing.basis import ModelChoice as ModelChoice
    from towtank.sizing.basis import load_basis as load_basis
    from towtank.sizing.interval import Interval as Interval
    from towtank.sizing.interval import duration_text as duration_text
    from towtank.sizing.interval import number_text as number_text
    from towtank.sizing.interval import rate_text as rate_text
    from towtank.sizing.interval import share_text as share_text
    from towtank.sizing.interval import size_text as size_text
    from towtank.sizing.machine_file import MachineFile as MachineFile
    from towtank.sizing.machines import Machine as Machine
    from towtank.sizing.machines import check_machines as check_machines
    from towtank.sizing.machines import load_machines as load_machines
    from towtank.sizing.machines import machine_catalogue as machine_catalogue
    from towtank.sizing.rating import RatingEstimate as RatingEstimate
    from towtank.sizing.rating import RatingMeasurement as RatingMeasurement
    from towtank.sizing.rating import RatingTurn as RatingTurn
    from towtank.sizing.rating import coverage as coverage
    from towtank.sizing.rating_document import MachineComparison as MachineComparison
    from towtank.sizing.rating_document import RatedMachine as RatedMachine
    from towtank.sizing.rating_document import check_machine_name as check_machine_name
    from towtank.sizing.rating_document import document_of_rating as document_of_rating
    from towtank.sizing.rating_document import machine_name as machine_name
    from towtank.sizing.rating_document import machine_text as machine_text
    from towtank.sizing.rating_document import reference_values as reference_values
    from towtank.sizing.reading import check_sizing as check_sizing
    from towtank.sizing.reading import read_sizing as read_sizing
    from towtank.sizing.result import AnswerResult as AnswerResult
    from towtank.sizing.result import BottleneckResult as BottleneckResult
    from towtank.sizing.result import Busiest as Busiest
    from towtank.sizing.result import CandidateResult as CandidateResult
    from towtank.sizing.result import ClassResult as ClassResult
    from towtank.sizing.result import DateResult as DateResult
    from towtank.sizing.result import LostNodes as LostNodes
    from towtank.sizing.result import ObjectiveResult as ObjectiveResult
    from towtank.sizing.result import PoolResult as PoolResult
    from towtank.sizing.result import Rest as Rest
    from towtank.sizing.result import ScenarioResult as ScenarioResult
    from towtank.sizing.result import SizedDay as SizedDay
    from towtank.sizing.result import SizedInterval as SizedInterval
    from towtank.sizing.result import SizingResult as SizingResult
    from towtank.sizing.result import SpeedResult as SpeedResult
    from towtank.sizing.result import StepResult as StepResult
    from towtank.sizing.result import TierResult as TierResult
    from towtank.sizing.result import TrustResult as TrustResult
    from towtank.sizing.result import WhatIfResult as WhatIfResult
    from towtank.sizing.rules import Rule as Rule
    from towtank.sizing.rules import RuleAnswer as RuleAnswer
    from towtank.sizing.rules import Rules as Rules
    from towtank.sizing.rules import answer_rule as answer_rule
    from towtank.sizing.rules import check_rules as check_rules
    from towtank.sizing.rules import check_sheet as check_sheet
    from towtank.sizing.rules import example_outcome as example_outcome
    from towtank.sizing.rules import inputs_with_defaults as inputs_with_defaults
    from towtank.sizing.rules import load_rules as load_rules
    from towtank.sizing.rules import rules_beside as rules_beside
    from towtank.sizing.rules.advising import Advice as Advice
    from towtank.sizing.rules.advising import advise as advise
    from towtank.sizing.rules.documents import advice_document as advice_document
    from towtank.sizing.rules.documents import input_bounds_text as input_bounds_text
    from towtank.sizing.rules.documents import rule_document as rule_document
    from towtank.sizing.rules.documents import rule_source_text as rule_source_text
    from towtank.sizing.rules.documents import rules_document as rules_document
    from towtank.sizing.rules.facts import Situation as Situation
    from towtank.sizing.rules.facts import SystemFacts as SystemFacts
    from towtank.sizing.rules.facts import facts_table as facts_table
    from towtank.sizing.rules.file import RuleExample as RuleExample
    from towtank.sizing.rules.file import RuleFile as RuleFile
    from towtank.sizing.rules.measured import measured_situations as measured_situations
    from towtank.sizing.rules.measured import study_file_of as study_file_of
    from towtank.sizing.rules.rule import InputValue as InputValue
    from towtank.sizing.rules.sheet import load_sheet as load_sheet
    from towtank.sizing.sizing import SizingSettings as SizingSettings
    from towtank.sizing.sizing import size as size
    from towtank.sizing.sizing_file import SizingFile as SizingFile
    from towtank.sizing.texts import busiest_text as busiest_text
    from towtank.sizing.texts import chance_text as chance_text
    from towtank.sizing.texts import expected_text as expected_text
    from towtank.sizing.texts import inputs_text as inputs_text
    from towtank.sizing.texts import interval_load_text as interval_load_text
    from towtank.sizing.texts import limit_text as limit_text
    from towtank.sizing.texts import load_text as load_text
    from towtank.sizing.texts import missed_from_text as missed_from_text
    from towtank.sizing.texts import never_text as never_text
    from towtank.sizing.texts import response_text as response_text
    from towtank.sizing.texts import step_text as step_text

__getattr__, __dir__ = door(
    __name__,
    {
        "asking": "size_source why_no_source",
        "basis": "MODEL_CHOICES ModelChoice load_basis",
        "interval": "Interval duration_text number_text rate_text share_text size_text",
        "machine_file": "MachineFile",
        "machines": "Machine check_machines load_machines machine_catalogue",
        "rating": "RatingEstimate RatingMeasurement RatingTurn coverage",
        "rating_document": (
            "MachineComparison RatedMachine check_machine_name document_of_rating machine_name machine_text "
            "reference_values"
        ),
        "reading": "check_sizing read_sizing",
        "result": (
            "AnswerResult BottleneckResult Busiest CandidateResult ClassResult DateResult LostNodes ObjectiveResult "
            "PoolResult Rest ScenarioResult SizedDay SizedInterval SizingResult SpeedResult StepResult TierResult "
            "TrustResult WhatIfResult"
        ),
        "rules": (
            "Rule RuleAnswer Rules answer_rule check_rules check_sheet example_outcome inputs_with_defaults "
            "load_rules rules_beside"
        ),
        "rules.advising": "Advice advise",
        "rules.documents": "advice_document input_bounds_text rule_document rule_source_text rules_document",
        "rules.facts": "Situation SystemFacts facts_table",
        "rules.file": "RuleExample RuleFile",
        "rules.measured": "measured_situations study_file_of",
        "rules.rule": "InputValue",
        "rules.sheet": "load_sheet",
        "sizing": "SizingSettings size",
        "sizing_file": "SizingFile",
        "texts": (
            "busiest_text chance_text expected_text inputs_text interval_load_text limit_text load_text "
            "missed_from_text never_text response_text step_text"
        ),
    },
)
