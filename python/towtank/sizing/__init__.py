"""Sizing: ratings of machines, the hardware that a load needs, and rules of thumb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.sizing.asking import size_source, why_no_source
    from towtank.sizing.basis import MODEL_CHOICES, ModelChoice, load_basis
    from towtank.sizing.interval import Interval, duration_text, number_text, rate_text, share_text, size_text
    from towtank.sizing.machine_file import MachineFile
    from towtank.sizing.machines import Machine, check_machines, load_machines, machine_catalogue
    from towtank.sizing.rating import (
        RatingBegin,
        RatingEstimate,
        RatingMeasurement,
        RatingTurn,
        coverage,
        read_rating_line,
    )
    from towtank.sizing.rating_document import (
        MachineComparison,
        RatedMachine,
        check_machine_name,
        document_of_rating,
        machine_name,
        machine_text,
        reference_values,
    )
    from towtank.sizing.reading import check_sizing, read_sizing
    from towtank.sizing.result import (
        AnswerResult,
        BottleneckResult,
        Busiest,
        CandidateResult,
        ClassResult,
        DateResult,
        LostNodes,
        ObjectiveResult,
        PoolResult,
        Rest,
        ScenarioResult,
        SizedDay,
        SizedInterval,
        SizingResult,
        SpeedResult,
        StepResult,
        TierResult,
        TrustResult,
        WhatIfResult,
    )
    from towtank.sizing.rules import (
        Rule,
        RuleAnswer,
        Rules,
        answer_rule,
        check_rules,
        check_sheet,
        example_outcome,
        inputs_with_defaults,
        load_rules,
        rules_beside,
    )
    from towtank.sizing.rules.advising import Advice, advise
    from towtank.sizing.rules.documents import (
        advice_document,
        input_bounds_text,
        rule_document,
        rule_source_text,
        rules_document,
    )
    from towtank.sizing.rules.facts import Situation, SystemFacts
    from towtank.sizing.rules.file import RuleExample, RuleFile
    from towtank.sizing.rules.measured import measured_situations, study_file_of
    from towtank.sizing.rules.rule import InputValue
    from towtank.sizing.rules.sheet import load_sheet
    from towtank.sizing.sizing import SizingSettings, size
    from towtank.sizing.sizing_file import SizingFile
    from towtank.sizing.texts import (
        busiest_text,
        chance_text,
        expected_text,
        inputs_text,
        interval_load_text,
        limit_text,
        load_text,
        missed_from_text,
        never_text,
        response_text,
        step_text,
    )

__getattr__, __dir__ = door(__name__)
