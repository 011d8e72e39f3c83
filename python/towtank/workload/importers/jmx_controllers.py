"""Controllers of JMeter as steps: what is done how often, and in which cases."""

from __future__ import annotations

import re
from pathlib import Path

from towtank.units import exact_share
from towtank.workload.importers.draft import Draft, Step, identifier, page, seconds, think, unique
from towtank.workload.importers.jmx_data import add_pool
from towtank.workload.importers.jmx_requests import Requests, Scope, read_defaults, read_headers
from towtank.workload.importers.jmx_texts import Texts
from towtank.workload.importers.jmx_tree import Item

_SAMPLERS = frozenset({"HTTPSamplerProxy", "HTTPSampler", "HTTPSampler2"})
_ALWAYS = frozenset({"GenericController", "CriticalSectionController", "RecordingController", "RunTime"})
_FILLED = re.compile(
    r"""["']?\$\{(\w+)\}["']?\s*(!=|==)\s*(?:""|''|null)|vars\.get\(["'](\w+)["']\)\s*(!=|==)\s*(?:null|""|'')"""
)
_WRAPPED = re.compile(r"\$\{__(?:jexl[23]|groovy|javaScript)\((.*?),?\s*\)\}", re.DOTALL)
_WORK = ("Controller", "InterleaveControl", "RunTime", "TestAction", "ThreadGroup")
_NO_LOSS = frozenset({"CookieManager", "TestPlan"})


class Controllers:
    """Walks through a thread group.

    Parameters
    ----------
    draft : Draft
        Gets data and notes.
    texts : Texts
        Translates texts.
    folder : Path
        Where the workload file will be.
    """

    def __init__(self, draft: Draft, texts: Texts, folder: Path) -> None:
        self.draft = draft
        self.texts = texts
        self.folder = folder
        self.requests = Requests(draft, texts, folder)
        self.pages: list[str] = []
        self.once: list[Step] = []

    def note(self, item: Item, why: str) -> None:
        """Note something about an element."""
        self.draft.notes.add(item.place, f"{item.tag} {item.name!r}", why)

    def enter(self, below: list[Item], outer: Scope) -> tuple[Scope, list[Item]]:
        """What holds in a part of the plan, and the samplers and controllers in it; everything else is noted."""
        scope, work = outer.copy(), []
        for item in below:
            if not item.enabled:
                self.note(item, "is switched off: left out")
            elif item.tag in _SAMPLERS or item.tag.endswith(_WORK):
                work.append(item)
            elif not self._config(item, scope):
                self._other(item)
        return scope, work

    def _config(self, item: Item, scope: Scope) -> bool:
        """Take over an element that holds for others; False where it is none."""
        kind = item.element.attributes.get("guiclass", "")
        if item.tag == "ConfigTestElement" and "HttpDefaults" in kind:
            read_defaults(item, scope)
        elif item.tag == "HeaderManager":
            scope.headers += read_headers(item)
        elif item.tag == "AuthManager":
            scope.logins += [each for each in item.collection("AuthManager.auth_list") if each.tag == "elementProp"]
        elif item.tag == "CSVDataSet":
            add_pool(item, self.draft, self.texts, self.folder)
        elif item.tag == "Arguments":
            self.variables(item)
        elif item.tag.endswith("Timer"):
            scope.timers.append(item)
        elif item.tag.endswith("Assertion"):
            scope.assertions.append(item)
        elif item.tag.endswith(("Extractor", "JSONPostProcessor", "JMESPathExtractor")):
            scope.extractors.append(item)
        else:
            return False
        return True

    def variables(self, item: Item) -> None:
        """User-defined variables."""
        for each in item.element.walk():
            if each.tag == "elementProp" and each.attributes.get("elementType") == "Argument":
                values = {child.attributes.get("name"): child.text for child in each.children}
                name = (values.get("Argument.name") or "").strip()
                if name:
                    self.texts.constants.setdefault(name, values.get("Argument.value") or "")

    def _other(self, item: Item) -> None:
        if item.tag in _NO_LOSS:
            return
        if item.tag == "CacheManager":
            self.note(item, "users have no cache: what browsers would keep is asked for every time")
        elif item.tag in {"ResultCollector", "Summariser", "BackendListener"}:
            self.note(item, "left out: results are written by towtank itself")
        elif item.tag.startswith(("JSR223", "BeanShell", "BSF")):
            self.note(item, "left out: scripts are not run")
        elif item.tag.endswith("Sampler"):
            self.note(item, "left out: only HTTP is spoken")
        else:
            self.note(item, "left out: it has no counterpart in a workload")

    def steps(self, below: list[Item], outer: Scope, *, top: bool) -> list[Step]:
        """Steps of a part of the plan; at the `top` there may be pages."""
        scope, work = self.enter(below, outer)
        return [step for item in work for step in self._item(item, scope, top=top)]

    def _item(self, item: Item, scope: Scope, *, top: bool) -> list[Step]:  # noqa: PLR0911 - one line per kind
        if item.tag in _SAMPLERS:
            inside, work = self.enter(item.below, scope)
            for each in work:
                self.note(each, "stands below a sampler: left out")
            return self.requests.steps(item, inside)
        if item.tag == "TestAction":
            return self._action(item)
        if item.tag == "TransactionController":
            return self._page(item, scope) if top else self._inner_page(item, scope)
        if item.tag == "OnceOnlyController" and top:
            self.once += self.steps(item.below, scope, top=True)
            return []
        steps = {
            "LoopController": self._loop,
            "IfController": self._if,
            "ThroughputController": self._throughput,
            "RandomController": self._random,
            "InterleaveControl": self._random,
            "SwitchController": self._random,
            "RandomOrderController": self._sequence,
        }.get(item.tag)
        if steps is not None:
            return steps(item, scope)
        if item.tag in {"ModuleController", "IncludeController"}:
            self.note(item, "what it leads to is not followed: put the elements in its place")
            return []
        if item.tag not in _ALWAYS or item.tag == "RunTime":
            self.note(item, "its steps are done once, in their order")
        return self.steps(item.below, scope, top=top)

    def _action(self, item: Item) -> list[Step]:
        """Flow control: a pause, or something that has no counterpart."""
        if item.text("ActionProcessor.action", "1").strip() != "1":
            self.note(item, "users are not stopped one by one: left out")
            return []
        pause = self.texts.number(item.text("ActionProcessor.duration"), item.place, f"pause {item.name!r}") / 1000
        return [think(seconds(pause))] if pause > 0 else []

    def _page(self, item: Item, scope: Scope) -> list[Step]:
        steps = self.steps(item.below, scope, top=False)
        lead = 0
        while lead < len(steps) and "think" in steps[lead]:
            lead += 1
        if not steps[lead:]:
            return steps
        if any("think" in step for step in steps[lead:]) and not item.flag("TransactionController.includeTimers"):
            self.note(item, "the time of the page has the think times in it")
        name = unique(item.name, self.pages)
        self.pages.append(name)
        return [*steps[:lead], page(name, steps[lead:])]

    def _inner_page(self, item: Item, scope: Scope) -> list[Step]:
        self.note(item, "pages do not stand inside other controllers: its steps are there, its time is not")
        return self.steps(item.below, scope, top=False)

    def _sequence(self, item: Item, scope: Scope) -> list[Step]:
        self.note(item, "its steps are done in the order they have here")
        return self.steps(item.below, scope, top=False)

    def _loop(self, item: Item, scope: Scope) -> list[Step]:
        steps = self.steps(item.below, scope, top=False)
        forever = item.flag("LoopController.continue_forever") and not item.text("LoopController.loops").strip("-")
        times = self.texts.number(item.text("LoopController.loops", "1"), item.place, f"loops of {item.name!r}", 1)
        if times < 0 or forever:
            self.note(item, "a loop for ever would never end the transaction: its steps are done once")
            return steps
        times = min(int(times), 1_000_000)
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
            item, f"conditions ask whether a variable is empty, got {condition[:80]!r}: its steps are always done"
        )
        return steps

    def _throughput(self, item: Item, scope: Scope) -> list[Step]:
        steps = self.steps(item.below, scope, top=False)
        if item.text("ThroughputController.style", "0").strip() != "1":
            self.note(item, "a number of executions in all is not counted: its steps are always done")
            return steps
        share = min(
            max(self.texts.number(_percent(item), item.place, f"percent of {item.name!r}", 100) / 100, 0.0), 1.0
        )
        return [{"branch": exact_share(round(share, 6)), "then": steps}] if steps and share > 0 else []

    def _random(self, item: Item, scope: Scope) -> list[Step]:
        """One of several, all equally likely: nested branches."""
        if item.tag != "RandomController":
            self.note(item, "one of its elements is taken at random each time")
        inside, work = self.enter(item.below, scope)
        alternatives = [steps for each in work if (steps := self._item(each, inside, top=False))]
        if not alternatives:
            return []
        chosen = alternatives[-1]
        for count, steps in enumerate(reversed(alternatives[:-1]), 2):
            chosen = [{"branch": exact_share(round(1 / count, 6)), "then": steps, "else": chosen}]
        return chosen


def _percent(item: Item) -> str:
    """Percent of a throughput controller, in either form that JMeter writes."""
    name = "ThroughputController.percentThroughput"
    for element in item.element.walk():
        fields = {child.tag: child.text for child in element.children}
        if element.tag == "FloatProperty" and fields.get("name") == name:
            return fields.get("value", "100")
    return item.text(name, "100")
