"""Parses what-if questions: changes such as `cpu x1.5` or `nodes app=3, think 5 s`.

By default, the changes apply to the hardware of the answer; `as it is, cpu x1.5` changes the present hardware instead.

Grammar of a change (changes are separated by commas):

    as it is                       the present hardware, instead of the answer
    cpu [of TIER] xFACTOR          speed of the CPUs of one tier, or of all tiers
    cpus TIER=NUMBER               number of CPUs of each node
    nodes TIER=NUMBER              number of nodes
    memory TIER=SIZE               memory of each node
    disk TIER=KIND                 kind of disk, a name from `disk_kinds`
    disk of TIER xFACTOR           speed of the disks of a tier
    users [CLASS=]NUMBER           users of a class, or of all classes in the same mix
    rate [CLASS=]RATE              arrival rate of a class, or of all classes in the same mix
    think [CLASS=]TIME             think time of a class, or of all classes
    mix CLASS=SHARE CLASS=SHARE    shares of the classes, or of the transactions of a single class
    demand STATION[.CLASS] xFACTOR service demand at a station
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from towtank import units
from towtank.errors import ModelError
from towtank.sizing.load import Load, mixed_names, shares_of
from towtank.sizing.question import Question
from towtank.sizing.settle import as_it_is
from towtank.sizing.sizing_file import HitRatioFile
from towtank.sizing.tiers import Candidate, Option
from towtank.spelling import did_you_mean
from towtank.units import format_size

FORMS = ("as", "cpu", "cpus", "nodes", "memory", "disk", "users", "rate", "think", "mix", "demand")
RUNS, ANSWER = "the hardware that runs", "the answer"
_FACTOR = re.compile(r"(?:of\s+(?P<name>[A-Za-z][\w.-]*)\s+)?x\s*(?P<factor>\d{1,9}(?:\.\d{1,9})?)")
_DEMAND = re.compile(r"(?P<name>[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)?)\s+x\s*(?P<factor>\d{1,9}(?:\.\d{1,9})?)")
_SET = re.compile(r"(?:(?P<name>[A-Za-z][\w-]*)\s*=\s*)?(?P<value>\S.*)")
_SHARE = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*([\d.]+\s*%)")
_NUMBER_AT_MOST = 1_000_000_000


@dataclass(frozen=True)
class Variant:
    """Hardware under a load, with the changes of a what-if question: factors of demands by station and class [ratio],
    and changed memory of each node by tier [byte]. The load grows in each random draw (`grows`), unless the question
    sets it. The question changes the hardware `RUNS` (the present one) or `ANSWER`.
    """

    candidate: Candidate
    load: Load
    demand: Mapping[tuple[str, str | None], float] = field(default_factory=dict)
    memory_bytes: Mapping[str, int] = field(default_factory=dict)
    grows: bool = True
    hardware: str = ""
    notes: tuple[str, ...] = ()

    def slower(self, station: str, name: str | None, factor: float) -> Variant:
        """Return this variant with the service demand at a station multiplied by a factor."""
        key = (station, name)
        return replace(self, demand={**self.demand, key: self.demand.get(key, 1.0) * factor})


Change = Callable[[Variant], Variant]


def read_what_if(text: str, question: Question) -> Change:
    """Parse a what-if question, and return a function that applies all changes of the question to a variant.

    Raises
    ------
    ValueError
        If the text is invalid; the message states the fault and its position.
    """
    changes, at = [], 0
    for part in text.split(","):
        start = at + len(part) - len(part.lstrip())
        try:
            changes.append(_clause(part.strip(), question))
        except ValueError as error:
            raise ValueError(f"{error} (character {start + 1} of {text!r})") from None
        at += len(part) + 1

    def all_of_them(variant: Variant) -> Variant:
        for change in changes:
            variant = change(variant)
        return variant

    return all_of_them


def _clause(text: str, question: Question) -> Change:
    word, _, rest = text.partition(" ")
    rest = rest.strip()
    if word not in FORMS:
        near = did_you_mean(word, list(FORMS))
        raise ValueError(f"must begin with one of {', '.join(FORMS)}, got {word!r} instead{near}")
    if word == "as":
        return _as_it_is(rest, question)
    if word == "mix":
        return _mix(rest, question)
    if word == "demand":
        return _demand(rest, question)
    if word == "cpu" or (word == "disk" and re.match(r"(of\s|x)", rest)):
        return _speed(word, rest, question)
    match = _SET.fullmatch(rest)
    if match is None:
        raise ValueError(f"must give the new value of {word}, as '{_example(word)}', got nothing")
    name, value = match["name"], match["value"]
    if word in ("cpus", "nodes", "memory", "disk"):
        return _hardware(word, _tier(word, name, question), value, question)
    return _load(word, name, value, question)


def _as_it_is(rest: str, question: Question) -> Change:
    if rest != "it is":
        raise ValueError(f"must be 'as it is', got 'as {rest}' instead")
    return lambda variant: replace(variant, candidate=as_it_is(question), hardware=RUNS)


def _example(word: str) -> str:
    return {
        "cpus": "cpus app=4", "nodes": "nodes app=3", "memory": "memory app=64 GiB", "disk": "disk data=ssd",
        "users": "users 500", "rate": "rate 20 /s", "think": "think 5 s",
    }[word]  # fmt: skip


def _one_of(what: str, name: str, known: list[str]) -> str:
    if name not in known:
        near = did_you_mean(name, known)
        raise ValueError(f"must name a {what} ({', '.join(known) or 'it has none'}), got {name!r} instead{near}")
    return name


def _tier(word: str, name: str | None, question: Question) -> int:
    names = [tier.name for tier in question.tiers]
    if name is None and len(names) == 1:
        return 0
    if name is None:
        raise ValueError(f"must name the tier, as '{_example(word)}', one of {', '.join(names)}")
    return names.index(_one_of("tier", name, names))


def _number(value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= _NUMBER_AT_MOST:
        raise ValueError(f"must be a whole number from 1, got {value!r} instead")
    return int(value)


def _factor(match: re.Match[str] | None, text: str, form: str) -> tuple[str | None, float]:
    if match is None or float(match["factor"]) <= 0:
        raise ValueError(f"must be '{form}' with a factor above 0, got {text!r} instead")
    return match["name"], float(match["factor"])


def _speed(word: str, rest: str, question: Question) -> Change:
    name, factor = _factor(_FACTOR.fullmatch(rest), f"{word} {rest}", f"{word} [of TIER] x1.5")
    kind = [tier.name for tier in question.tiers if tier.kind == word]
    meant = kind if name is None else [_one_of(f"tier of kind {word}", name, kind)]
    if not meant:
        raise ValueError(f"must have a tier of kind {word} to be faster, got none")

    def change(variant: Variant) -> Variant:
        options = [
            replace(
                option,
                speed=option.speed * factor,
                speed_low=option.speed_low * factor,
                speed_high=option.speed_high * factor,
            )
            if tier.name in meant
            else option
            for tier, option in zip(question.tiers, variant.candidate, strict=True)
        ]
        return replace(variant, candidate=tuple(options))

    return change


def _hardware(word: str, place: int, value: str, question: Question) -> Change:
    tier = question.tiers[place]
    if word == "memory":
        size = units.size(value)
        return lambda variant: _with_memory(variant, tier.name, size, question)
    if word == "disk":
        return _disk(tier.name, tier.stations, value, question)
    number = _number(value)
    if number > 100_000:
        raise ValueError(f"must be at most 100000 {word}, got {value} instead")

    def set_(option: Option) -> Option:
        return replace(option, cpus=number, machine=None) if word == "cpus" else replace(option, nodes=number)

    def change(variant: Variant) -> Variant:
        found = variant.candidate
        return replace(variant, candidate=(*found[:place], set_(found[place]), *found[place + 1 :]))

    return change


def _disk(tier: str, stations: tuple[str, ...], kind: str, question: Question) -> Change:
    kinds = question.file.disk_kinds
    time = kinds[_one_of("kind of `disk_kinds`", kind, list(kinds))].service_time
    known = question.basis.stations

    def change(variant: Variant) -> Variant:
        for name in stations:
            for service in known[name].services:
                if service.visits is None:
                    raise ModelError(
                        f"disk {tier}={kind}: {name} must have visits and a service time, got a demand only"
                    )
                variant = variant.slower(name, service.job_class, time / service.service_time_s)
        return variant

    return change


def _with_memory(variant: Variant, tier: str, size: int, question: Question) -> Variant:
    variant = replace(variant, memory_bytes={**variant.memory_bytes, tier: size})
    for name, cache in question.file.hit_ratios.items():
        factor, note = _misses_factor(cache, size)
        variant = replace(variant.slower(cache.station, None, factor), notes=(*variant.notes, f"{name}: {note}"))
    return variant


def _misses_factor(cache: HitRatioFile, size: int) -> tuple[float, str]:
    """Return the factor by which another memory size changes the number of cache misses, and a text with the hit ratios
    before and after. The hit ratio is interpolated linearly between the memory sizes of the sizing file.
    """
    if not cache.memory[0] <= size <= cache.memory[-1]:
        ends = f"{format_size(cache.memory[0])} to {format_size(cache.memory[-1])}"
        raise ModelError(
            f"memory: must be from {ends}, for which the hit ratio of {cache.station} is known, got {format_size(size)}"
        )
    now, then = _hit_ratio(cache, cache.now), _hit_ratio(cache, size)
    if now >= 1:
        raise ModelError(f"hit_ratios: {cache.station} must have misses now, got a hit ratio of 100 %")
    return max((1 - then) / (1 - now), 1e-9), f"hit ratio {100 * now:.1f} % now, {100 * then:.1f} % then"


def _hit_ratio(cache: HitRatioFile, size: int) -> float:
    for place in range(1, len(cache.memory)):
        if size <= cache.memory[place]:
            low, high = cache.memory[place - 1], cache.memory[place]
            part = (size - low) / (high - low)
            return cache.hit_ratio[place - 1] + part * (cache.hit_ratio[place] - cache.hit_ratio[place - 1])
    return cache.hit_ratio[-1]


def _load(word: str, name: str | None, value: str, question: Question) -> Change:
    load = question.load
    names = list({"users": load.users, "rate": load.rate, "think": load.think_s}[word])
    if word == "think":
        names = list(dict.fromkeys([*names, *question.basis.transactions]))
    if not names:
        kind = "open" if word == "rate" else "closed"
        raise ValueError(f"must be about a class of the model, got {word} but it has no {kind} class")
    if name is not None:
        _one_of(f"{'open' if word == 'rate' else 'closed'} class", name, names)
    amount: float = (
        _number(value) if word == "users" else units.rate(value) if word == "rate" else units.duration(value)
    )
    if word == "rate" and amount <= 0:
        raise ValueError(f"must be a rate above 0, got {value!r} instead")

    def change(variant: Variant) -> Variant:
        load = variant.load
        if word == "think":
            return replace(
                variant,
                load=replace(load, think_s={**load.think_s, **dict.fromkeys([name] if name else load.think_s, amount)}),
            )
        old = load.users if word == "users" else load.rate
        scale = amount / sum(old.values())
        new = {**old, name: float(amount)} if name else {each: before * scale for each, before in old.items()}
        return replace(variant, load=_with(load, word, new), grows=False)

    return change


def _with(load: Load, key: str, new: Mapping[str, float]) -> Load:
    """Return a load with another number of users or other arrival rates."""
    return replace(load, users=new) if key == "users" else replace(load, rate=new)


def _mix(rest: str, question: Question) -> Change:
    pairs = _SHARE.findall(rest)
    loads = question.load
    ones = mixed_names(question.basis)
    known = ones if ones == list(question.basis.transactions) else list(loads.users or loads.rate)
    if not pairs or _SHARE.sub("", rest).strip() or (loads.users and loads.rate):
        raise ValueError(f"must be 'mix CLASS=60 % CLASS=40 %' of classes of one kind, got {rest!r} instead")
    shares = {_one_of("class", name, known): units.share(share) for name, share in pairs}
    if abs(sum(shares.values()) - 1) > 1e-6:
        raise ValueError(f"must be shares that add up to 100 %, got {100 * sum(shares.values()):g} %")

    def change(variant: Variant) -> Variant:
        if known == list(question.basis.transactions):
            return replace(variant, load=replace(variant.load, shares=shares_of(question.basis, shares)))
        key = "users" if variant.load.users else "rate"
        old = variant.load.users or variant.load.rate
        new = {name: sum(old.values()) * shares.get(name, 0.0) for name in old}
        return replace(variant, load=_with(variant.load, key, new))

    return change


def _demand(rest: str, question: Question) -> Change:
    name, factor = _factor(_DEMAND.fullmatch(rest), f"demand {rest}", "demand STATION[.CLASS] x0.8")
    station, _, each = str(name).partition(".")
    _one_of("station", station, list(question.basis.stations))
    if each:
        known = [service.job_class for service in question.basis.stations[station].services]
        _one_of(f"class that comes to {station}", each, known)
    return lambda variant: variant.slower(station, each or None, factor)
