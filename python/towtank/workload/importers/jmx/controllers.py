"""Converts JMeter controllers to loops, conditions, pages and other steps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from towtank.units import exact_share
from towtank.workload.importers.draft import ROUNDS_AT_MOST, ImportDraft, Step, identifier, page, seconds, think, unique
from towtank.workload.importers.jmx.data import add_pool
from towtank.workload.importers.jmx.requests import Requests, Scope, read_defaults, read_headers, read_logins
from towtank.workload.importers.jmx.texts import Texts
from towtank.workload.importers.jmx.tree import Item, text_of
from towtank.workload.importers.mixing import choice

_SAMPLERS = frozenset({"HTTPSamplerProxy", "HTTPSampler", "HTTPSampler2"})
_ALWAYS = frozenset({"GenericController", "RecordingController"})
# Description of each flow control action by its number in the test plan (TestAction of JMeter 5.5).
_ACTIONS = {
    "0": "stops the thread or the test",
    "2": "stops the thread or the test immediately",
    "3": "starts the next iteration of the thread",
    "4": "starts the next iteration of the loop",
    "5": "leaves the loop",
}
_FILLED = re.compile(
    r"""["']?\$\{(\w+)\}["']?\s*(!=|==)\s*(?:""|''|null)|vars\.get\(["'](\w+)["']\)\s*(!=|==)\s*(?:null|""|'')"""
)
_WRAPPED = re.compile(r"\$\{__(?:jexl[23]|groovy|javaScript)\((.*?),?\s*\)\}", re.DOTALL)
# Matches a random integer between two bounds; both bounds are possible values.
_NUMBERS = re.compile(r"\$\{(?:__Random\(|random\.int\()\s*(\d{1,17})\s*,\s*(\d{1,17})\s*(?:,[^)]*)?\)\}")
_WORK = ("Controller", "InterleaveControl", "RunTime", "TestAction", "ThreadGroup")


class Controllers:
    """Converts the elements of thread groups to steps."""

    def __init__(self, draft: ImportDraft, texts: Texts, folder: Path) -> None:
        self.draft = draft
        self.texts = texts
        self.folder = folder
        self.requests = Requests(draft, texts, folder)
        self.pages: list[str] = []
        self.once: list[Step] = []
        # Names of data pools: `pools` for data sets of the element that is being converted, `inner` for data sets
        # inside the controllers of a thread group.
        self.pools: list[str] = []
        self.inner: set[str] = set()

    def note(self, item: Item, why: str) -> None:
        self.draft.notes.add(item.place, f"{item.tag} {item.name!r}", why)

    def leave_out(self, item: Item, why: str) -> None:
        """Add a note that an element of the test plan is omitted together with all elements below it."""
        item.left_out = True
        self.note(item, why)

    def enter(self, below: list[Item], outer: Scope) -> tuple[Scope, list[Item]]:
        """Return the scope of the elements in `below`, and the samplers and controllers among these elements.

        Elements that configure samplers extend the scope. All other elements are reported in notes.
        """
        scope, work = outer.copy(), []
        for item in below:
            if not item.enabled:
                self.leave_out(item, "is disabled: left out")
            elif item.tag in _SAMPLERS or item.tag.endswith(_WORK):
                work.append(item)
            elif not self._config(item, scope, outer):
                self._other(item)
        return scope, work

    def _config(self, item: Item, scope: Scope, outer: Scope) -> bool:
        """Read an element that applies to other elements; return False for any other kind of element."""
        kind = item.element.attributes.get("guiclass", "")
        if item.tag == "ConfigTestElement" and "HttpDefaults" in kind:
            read_defaults(item, scope, outer)
        elif item.tag == "HeaderManager":
            scope.headers += read_headers(item)
        elif item.tag in {"AuthManager", "CookieManager"}:
            self._manager(item, scope, outer)
        elif item.tag == "CounterConfig":
            self._counter(item)
        elif item.tag == "CSVDataSet":
            pool = add_pool(item, self.draft, self.texts, self.folder)
            self.pools += [pool] if pool is not None else []
        elif item.tag == "Arguments":
            pass  # user-defined variables apply to the whole test plan and were read before
        elif item.tag.endswith("Timer"):
            scope.timers.append(item)
        elif item.tag.endswith("Assertion"):
            scope.assertions.append(item)
        elif item.tag.endswith(("Extractor", "JSONPostProcessor", "JMESPathExtractor")):
            scope.extractors.append(item)
        else:
            return False
        return True

    def _manager(self, item: Item, scope: Scope, outer: Scope) -> None:
        """Read a login manager or a cookie manager.

        If an outer manager exists, it has precedence (HTTPSamplerBase of JMeter 5.5).
        """
        logins = item.tag == "AuthManager"
        if (outer.logins if logins else outer.cookies) is not None:
            self.leave_out(item, f"left out: JMeter uses the outer {item.tag}")
        elif logins:
            scope.logins = read_logins(item, self.texts)
        else:
            scope.cookies = item
            self.requests.cookies.declared.append(item)

    def variables(self, item: Item) -> None:
        """Read user-defined variables.

        If a name is defined several times, the last definition in the test plan takes effect (JMeter 5.5).
        """
        for each in item.collection("Arguments.arguments"):
            name, value = text_of(each, "Argument.name").strip(), text_of(each, "Argument.value")
            if name:
                self.texts.constants[name] = value

    def _counter(self, item: Item) -> None:
        """Read a counter. The workload uses the iteration number of the virtual user in place of the counter."""
        name = item.text("CounterConfig.name").strip()
        start, step = item.text("CounterConfig.start").strip() or "0", item.text("CounterConfig.incr").strip() or "0"
        whose = "of each user" if item.flag("CounterConfig.per_user") else "of all users together"
        self.texts.counters |= {name} if name else set()
        counts = "${iteration} counts the transactions of one user from 1 in steps of 1"
        self.note(item, f"{name!r} counts rounds {whose} from {start} in steps of {step}; {counts}")

    def _other(self, item: Item) -> None:
        if item.tag == "CacheManager":
            why = "users have no cache: all content is requested every time"
        elif item.tag in {"ResultCollector", "Summariser", "BackendListener"}:
            why = "left out: Towtank writes its own results"
        elif item.tag.startswith(("JSR223", "BeanShell", "BSF")):
            why = "left out: scripts are not run"
        elif item.tag.endswith("Sampler"):
            why = "left out with its timers: only HTTP is supported"
        else:
            why = "left out: it has no counterpart in a workload"
        self.leave_out(item, why)

    def steps(self, below: list[Item], outer: Scope, *, top: bool) -> list[Step]:
        """Return the steps of the elements in `below`, preceded by steps that read rows of the data sets among these
        elements.

        JMeter also reads data sets first (TestCompiler of JMeter 5.5).
        """
        outside, self.pools = self.pools, []
        steps = self.whole(below, outer, top=top)
        here, self.pools = self.pools, outside
        self.inner |= set(here)
        written = json.dumps(steps)
        return [*({"draw": pool} for pool in here if f"${{{pool}." in written), *steps]

    def whole(self, below: list[Item], outer: Scope, *, top: bool) -> list[Step]:
        """Return the steps for all elements below a thread group or a controller.

        Directly below a thread group (`top`), steps may be pages.
        """
        scope, work = self.enter(below, outer)
        steps: list[Step] = []
        for item in work:
            if item.tag == "OnceOnlyController" and top:
                self._say_of_once(item, first=not steps)
            steps += self._item(item, scope, top=top)
        return steps

    def _item(self, item: Item, scope: Scope, *, top: bool) -> list[Step]:  # noqa: PLR0911 - one return per kind
        if item.tag in _SAMPLERS:
            inside, work = self.enter(item.below, scope)
            for each in work:
                self.leave_out(each, "is below a sampler: left out")
            return self.requests.steps(item, inside)
        if item.tag == "TestAction":
            return self._action(item, scope)
        if item.tag == "TransactionController":
            # marks the property as read
            item.flag("TransactionController.includeTimers")
            return self._page(item, scope) if top else self._inner_page(item, scope)
        if item.tag == "OnceOnlyController" and top:
            with self._times(0):
                self.once += self.steps(item.below, scope, top=True)
            return []
        steps = {
            "LoopController": self._loop,
            "IfController": self._if,
            "ThroughputController": self._throughput,
            "RandomController": self._random,
            "InterleaveControl": self._random,
            "SwitchController": self._switch,
            "RandomOrderController": self._sequence,
        }.get(item.tag)
        if steps is not None:
            return steps(item, scope)
        if item.tag in {"ModuleController", "IncludeController"}:
            self.leave_out(
                item, "left out: references to other elements are not followed; replace it by the elements themselves"
            )
            return []
        if item.tag == "CriticalSectionController":
            self.note(item, "users do not wait for each other: its steps are executed without a lock")
        elif item.tag == "OnceOnlyController":
            self.note(item, "is inside another controller: its steps are executed each time")
        elif item.tag not in _ALWAYS:
            self.note(item, "its steps are executed once, in their order")
        return self.steps(item.below, scope, top=top)

    def _say_of_once(self, item: Item, *, first: bool) -> None:
        """Add notes about the differences between `once` in the workload and the Once Only Controller of JMeter."""
        if not first:
            self.note(item, "runs before the first round; JMeter runs the elements above it first")
        if self.requests.on_failure is None:
            self.note(item, "runs once even if one of its requests fails; JMeter repeats it in the next loop")

    def _action(self, item: Item, scope: Scope) -> list[Step]:
        """Read a flow control action: a pause becomes a step, other actions become a note.

        Timers apply to the action in the same way as to a sampler.
        """
        inside, work = self.enter(item.below, scope)
        for each in work:
            self.leave_out(each, "is below a sampler: left out")
        steps = self.requests.pauses(inside)
        # Without this property the action has the number 0, which stops the thread.
        action = item.text("ActionProcessor.action", "0").strip()
        length = item.text("ActionProcessor.duration")
        if action != "1":
            does = _ACTIONS.get(action, f"does action {action[:20]}")
            self.note(item, f"{does}: a workload cannot do this, and the user continues with the next step")
            return steps
        pause = self.texts.number(length, item.place, f"pause {item.name!r}") / 1000
        return [*steps, think(seconds(pause))] if pause > 0 else steps

    def _page(self, item: Item, scope: Scope) -> list[Step]:
        steps = self.steps(item.below, scope, top=False)
        # In JMeter, the time of a page includes timers by default (TransactionController of JMeter 5.5).
        timers = item.flag("TransactionController.includeTimers", default=True)
        lead = 0
        while lead < len(steps) and "think" in steps[lead]:
            lead += 1
        if not steps[lead:]:
            return steps
        # In JMeter, the time of a page includes the timers of its first request; in the workload, it does not.
        if any("think" in step for step in steps) and timers:
            self.note(item, "JMeter's time includes the timers; the page time excludes think times")
        name = unique(item.name, self.pages)
        self.pages.append(name)
        return [*steps[:lead], page(name, steps[lead:])]

    def _inner_page(self, item: Item, scope: Scope) -> list[Step]:
        self.note(item, "a page cannot be inside another controller: its steps are kept, but its time is not measured")
        # marks the property as read; the note above covers it
        item.flag("TransactionController.includeTimers")
        return self.steps(item.below, scope, top=False)

    def _sequence(self, item: Item, scope: Scope) -> list[Step]:
        self.note(item, "its steps are executed in the order of the plan")
        return self.steps(item.below, scope, top=False)

    @contextmanager
    def _times(self, number: float) -> Iterator[None]:
        """Multiply `per_round`, the mean number of executions per round, by a factor while a part of the test plan is
        converted.

        Throughput timers need this number for each sampler.
        """
        outer = self.requests.per_round
        self.requests.per_round = outer * number
        yield
        self.requests.per_round = outer

    def _loop(self, item: Item, scope: Scope) -> list[Step]:
        forever = item.flag("LoopController.continue_forever") and not item.text("LoopController.loops").strip("-")
        times = self.texts.number(item.text("LoopController.loops", "1"), item.place, f"loops of {item.name!r}", 1)
        if times < 0 or forever:
            self.note(item, "an endless loop would never end the transaction: its steps are executed once")
            return self.steps(item.below, scope, top=False)
        if times > ROUNDS_AT_MOST:
            self.note(item, f"has {times:.0f} rounds: a loop of a workload has at most {ROUNDS_AT_MOST}")
        times = min(int(times), ROUNDS_AT_MOST)
        with self._times(times):
            steps = self.steps(item.below, scope, top=False)
        return [{"loop": times, "steps": steps}] if steps and times > 1 else steps if times else []

    def _if(self, item: Item, scope: Scope) -> list[Step]:
        condition = item.text("IfController.condition").strip()
        inside = _WRAPPED.sub(lambda match: match.group(1), condition) or condition
        match = _FILLED.fullmatch(inside.strip())
        name = (match.group(1) or match.group(3)) if match is not None else None
        if match is not None and name in self.texts.extracted:
            if name not in self.texts.assigned:
                self.texts.early.add(name)
            steps = self.steps(item.below, scope, top=False)
            state = "filled" if (match.group(2) or match.group(4)) == "!=" else "empty"
            return [{"if": {state: identifier(name, "value")}, "then": steps}] if steps else []
        steps = self.steps(item.below, scope, top=False)
        self.note(
            item,
            f"only tests for an empty variable are supported, got {condition[:80]!r}: its steps are always executed",
        )
        return steps

    def _throughput(self, item: Item, scope: Scope) -> list[Step]:
        percent = item.number("ThroughputController.percentThroughput", "100")
        if item.text("ThroughputController.style", "0").strip() != "1":
            self.note(item, "a total number of executions is not supported: its steps are always executed")
            return self.steps(item.below, scope, top=False)
        share = min(max(self.texts.number(percent, item.place, f"percent of {item.name!r}", 100) / 100, 0.0), 1.0)
        with self._times(share):
            steps = self.steps(item.below, scope, top=False)
        return [{"branch": exact_share(round(share, 6)), "then": steps}] if steps and share > 0 else []

    def _random(self, item: Item, scope: Scope) -> list[Step]:
        """Convert a controller that executes one of its elements, chosen with equal probabilities.

        An element without requests may be chosen too; then nothing is executed.
        """
        if item.tag != "RandomController":
            self.note(item, "one of its elements is chosen at random each time")
        number = len(_chosen_from(item))
        return choice(self._alternatives(item, scope, [1 / number] * number))

    def _alternatives(self, item: Item, scope: Scope, probabilities: list[float]) -> list[tuple[float, list[Step]]]:
        """Return the elements from which a controller chooses, each with its probability and its steps."""
        inside, work = self.enter(item.below, scope)
        carried = {id(each) for each in work}
        found = []
        for probability, each in zip(probabilities, _chosen_from(item), strict=True):
            with self._times(probability):
                found.append((probability, self._item(each, inside, top=False) if id(each) in carried else []))
        return found

    def _switch(self, item: Item, scope: Scope) -> list[Step]:
        """Convert a switch, which executes the element that a number or a name selects (SwitchController of JMeter
        5.5).
        """
        value = self.texts.static(item.text("SwitchController.value")).strip()
        probabilities = _switched(value, [each.name for each in _chosen_from(item)])
        if probabilities is None:
            self.note(item, f"{value[:60]!r} is not known before the run: one of its elements is chosen at random")
            number = len(_chosen_from(item))
            probabilities = [1 / number] * number
        return choice(self._alternatives(item, scope, probabilities))


def _chosen_from(item: Item) -> list[Item]:
    """Return the elements from which a controller chooses: enabled controllers and enabled samplers, even samplers that
    the importer does not support.
    """
    return [each for each in item.below if each.enabled and each.tag.endswith((*_SAMPLERS, *_WORK, "Sampler"))]


def _switched(value: str, names: list[str]) -> list[float] | None:
    """Return the probability with which a switch selects each of its elements, given the value of the switch.

    The value is the name of an element or an index from 0. An index out of range selects the first element.

    Returns
    -------
    list of float or None
        None if the value is not known before the run.
    """
    numbers = _NUMBERS.fullmatch(value)
    if numbers is not None:
        low, high = sorted(int(number) for number in numbers.groups())
        inside = [low <= index <= high for index in range(len(names))]
        shares = [each / (high - low + 1) for each in inside]
        return [1 - sum(shares[1:]), *shares[1:]] if names and low >= 0 else None
    if "${" in value:
        return None
    index = int(value or "0") if value.isdecimal() or not value else -1
    if index >= 0:
        index = index if index < len(names) else 0
    else:
        spare = [number for number, name in enumerate(names) if name.lower() == "default"]
        index = names.index(value) if value in names else spare[-1] if spare else len(names)
    return [float(number == index) for number in range(len(names))]
