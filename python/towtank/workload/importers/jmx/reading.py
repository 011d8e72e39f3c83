"""Reads JMeter test plans. The loop of each thread group becomes a user group with one transaction."""

from __future__ import annotations

import json
import re
from pathlib import Path

from towtank.errors import StudyError
from towtank.units import exact_duration, exact_share
from towtank.workload.importers import xmlfile
from towtank.workload.importers.draft import (
    DraftGroup,
    ImportDraft,
    ImportOptions,
    Step,
    common_headers,
    identifier,
    requests_in,
    unique,
    weights,
)
from towtank.workload.importers.jmx.account import account
from towtank.workload.importers.jmx.controllers import Controllers
from towtank.workload.importers.jmx.pacing import Pacing
from towtank.workload.importers.jmx.requests import Scope
from towtank.workload.importers.jmx.texts import Texts
from towtank.workload.importers.jmx.tree import Item, inner, items, text_of
from towtank.workload.importers.xmlfile import Element

# Number of users of a group if the number of threads of its thread group cannot be read. [1]
_USERS_UNKNOWN = 1.0


def read(path: Path, options: ImportOptions) -> ImportDraft:
    """Read a JMeter test plan into a draft of a workload."""
    root = xmlfile.load(path)
    trees = [child for child in root.children if child.tag == "hashTree"]
    if root.tag != "jmeterTestPlan" or not trees:
        message = f"must be a test plan of JMeter (jmeterTestPlan), got <{root.tag}> instead"
        raise StudyError.at(path, message, line=root.line, column=root.column)
    draft = ImportDraft(str(path), "jmx", identifier(path.stem, "plan"))
    top = list(items(trees[0]))
    _Plan(draft, top, options).read()
    for child in root.children:
        if child.tag != "hashTree" or child is not trees[0]:
            draft.notes.add(child.place, f"<{child.tag}>", "left out: it is outside of the test plan")
    account(draft, top, strict=options.strict)
    return draft


class _Plan:
    def __init__(self, draft: ImportDraft, top: list[Item], options: ImportOptions) -> None:
        self.draft = draft
        self.top = top
        self.texts = Texts(draft)
        self.controllers = Controllers(draft, self.texts, options.folder)
        self.pacing = Pacing(draft, self.texts)
        self.users: dict[str, float] = {}
        self.load: list[dict[str, object]] = []

    def read(self) -> None:
        below: list[Item] = []
        for item in self.top:
            if item.tag == "TestPlan":
                self.draft.title = item.name
                self.controllers.variables(item)
                below += item.below
            elif item.tag != "WorkBench":
                below.append(item)
            else:
                self.controllers.leave_out(item, "left out: its elements are not part of the test")
        self._names(below)
        scope, work = self.controllers.enter(below, Scope())
        threads = 0.0
        for item in work:
            if item.tag in {"SetupThreadGroup", "PostThreadGroup"}:
                self.controllers.leave_out(item, "left out: it runs once before or after all users")
            elif item.tag.endswith("ThreadGroup"):
                users = self._users(item)
                if users >= 1:
                    self._group(item, scope, users)
                else:
                    self.controllers.leave_out(item, f"left out: it has {users:g} threads and does nothing")
                # The threads of groups that this importer leaves out are counted too, because in JMeter they take part
                # in the throughput of the timers.
                threads += max(users, 0.0)
            else:
                self.controllers.leave_out(item, "left out: it is outside of all thread groups")
        if not self.draft.groups:
            return
        shares = weights(self.users)
        for name, share in shares.items():
            self.draft.groups[name].share = exact_share(round(share / 100, 6))
        self.pacing.finish(threads)
        self.controllers.requests.cookies.close()
        self._targets()
        self.draft.findings["load"] = {"users": int(sum(self.users.values())), "groups": self.load}

    def _names(self, below: list[Item]) -> None:
        """Collect the names of all variables that the test plan sets, so that references to them are recognized."""
        for item in below:
            if not item.enabled:
                continue
            if item.tag == "Arguments":
                self.controllers.variables(item)
            refnames = [item.peek("RegexExtractor.refname"), item.peek("BoundaryExtractor.refname")]
            refnames += item.peek("JSONPostProcessor.referenceNames").split(";")
            self.texts.extracted |= {name.strip() for name in refnames if name.strip()}
            self._names(item.below)

    def _group(self, item: Item, scope: Scope, users: float) -> None:
        name = unique(identifier(item.name, "group"), self.draft.groups)
        controllers, texts = self.controllers, self.texts
        texts.assigned, texts.early, texts.pools = set(), set(), set()
        controllers.pages, controllers.once = [], []
        controllers.requests.paced = {}
        controllers.requests.cookies.begin()
        self._on_error(item)
        steps = controllers.whole(item.below, scope, top=True)
        if not requests_in(steps):
            controllers.leave_out(item, "left out: it has no requests that can be imported")
            return
        once = []
        if controllers.once:
            once = [unique(f"{name}_once", self.draft.transactions)]
            self.draft.transactions[once[0]] = self._whole(controllers.once, item)
        transaction = unique(name, self.draft.transactions)
        drawn = self._drawn(controllers.once)
        self.draft.transactions[transaction] = self._whole(steps, item, drawn)
        self._load(item, name, users)
        self.pacing.add(name, users, list(controllers.requests.paced.values()))
        cookies = controllers.requests.cookies.finish(item)
        self.draft.groups[name] = DraftGroup({transaction: 100}, once=once, cookies=cookies)

    def _on_error(self, item: Item) -> None:
        """Read the action that a thread group takes after a failed sample.

        Without the property, the thread continues (AbstractThreadGroup of JMeter 5.5).
        """
        action = item.text("ThreadGroup.on_sample_error", "continue").strip() or "continue"
        self.controllers.requests.on_failure = "go_on" if action == "continue" else None
        if action not in {"continue", "startnextloop"}:
            what = f"{item.tag} {item.name!r}: on_sample_error = {action[:40]!r}"
            why = "a failed request ends the round, and the user begins the next one; JMeter stops the thread or test"
            self.draft.notes.add(item.place, what, why)

    def _drawn(self, steps: list[Step]) -> list[str]:
        """Return the pools from which the steps read rows, except the pools of data sets inside controllers."""
        written = json.dumps(steps)
        return [pool for pool in sorted(self.texts.pools - self.controllers.inner) if f"${{{pool}." in written]

    def _whole(self, steps: list[Step], item: Item, drawn: list[str] | None = None) -> list[Step]:
        """Add steps that read rows from pools to a transaction, and empty values for variables that are read before
        they are set.

        Rows are read at the start of each round. If the steps `once` have already read a row of a pool in `drawn`, the
        first round uses this row, and the next row is read at the end of each round.
        """
        written = json.dumps(steps)
        pools = self._drawn(steps)
        head: list[Step] = [{"draw": pool} for pool in pools if pool not in (drawn or [])]
        tail: list[Step] = [{"draw": pool} for pool in pools if pool in (drawn or [])]
        if tail and self.controllers.requests.on_failure is None:
            why = (
                "are drawn at the end of a round, because the first round uses the row of `once`; a failed round "
                "draws none"
            )
            self.draft.notes.add(item.place, f"rows of {item.name!r}", why)
        variables = {identifier(name, "value"): name for name in sorted(self.texts.early)}
        early = {v: name for v, name in variables.items() if re.search(rf'\$\{{{v}[|}}]|: "{v}"', written)}
        if early:
            why = (
                f"{', '.join(early.values())}: read before they are set; in the workload they are empty at the start "
                "of every transaction"
            )
            self.draft.notes.add(item.place, f"variables of {item.name!r}", why)
            head.append({"set": dict.fromkeys(early, "")})
        return [*head, *steps, *tail]

    def _load(self, item: Item, name: str, users: float) -> None:
        """Add the users, the ramp-up and the duration of a group to the findings of the draft."""
        self.users[name] = users
        ramp = self.texts.number(item.text("ThreadGroup.ramp_time"), item.place, f"ramp of {item.name!r}")
        scheduled, length = item.flag("ThreadGroup.scheduler"), item.text("ThreadGroup.duration")
        text = length if scheduled else ""
        duration = self.texts.number(text, item.place, f"duration of {item.name!r}")
        controller = inner(item.element, "ThreadGroup.main_controller")
        loops = self._loops(controller)
        self.load.append(
            {"group": name, "users": int(users), "ramp_up_s": ramp, "duration_s": duration or None, "loops": loops}
        )
        shown = f"{int(users)} users, ramp-up {ramp:g} s" + (f", duration {duration:g} s" if duration else "")
        why = f"must be set in the load of the study; the workload contains only the share of the group ({shown})"
        self.draft.notes.add(item.place, f"load of {item.name!r}", why)
        if loops.strip() not in {"-1", ""}:
            why = f"{loops} loops: users of a workload continue until the load ends"
            self.draft.notes.add(item.place, f"loops of {item.name!r}", why)
        if item.tag != "ThreadGroup":
            schedule = item.text("OpenModelThreadGroup.schedule") or item.peek("Schedule")
            given = f" ({schedule[:60]})" if schedule else ""
            why = f"is imported as a thread group of constant size: set its schedule{given} in the load of the study"
            self.controllers.note(item, why)

    def _users(self, item: Item) -> float:
        """Return the number of threads of a thread group, including groups of the types that plugins add. [1]"""
        what = f"users of {item.name!r}"
        numbers = [item.text("ThreadGroup.num_threads") or item.text("TargetLevel")]
        # Each row of an UltimateThreadGroup (jpgc-casutg 2.10) begins with a number of threads to start.
        rows = item.collection("ultimatethreadgroupdata")
        if rows:
            numbers = [row.children[0].text if row.children else "0" for row in rows]
            self.draft.notes.add(
                item.place, what, f"are the sum over its {len(rows)} rows, although the rows may not overlap in time"
            )
        elif not numbers[0].strip() and item.tag != "ThreadGroup":
            self.draft.notes.add(item.place, what, f"are not stated in the plan: {_USERS_UNKNOWN:g} is assumed")
        return sum(self.texts.number(number, item.place, what, _USERS_UNKNOWN) for number in numbers)

    def _loops(self, controller: Element | None) -> str:
        """Return the loop count of a thread group as text.

        The default, -1, is an endless loop (LoopController of JMeter 5.5).
        """
        if controller is None:
            return "-1"
        loops = self.texts.static(text_of(controller, "LoopController.loops", "-1"))
        forever = text_of(controller, "LoopController.continue_forever", "true").strip().lower() != "false"
        return "-1" if forever else loops

    def _targets(self) -> None:
        """Move headers that all requests share to the defaults. If the workload has only one target, remove the target
        from the steps.
        """
        steps = [step for transaction in self.draft.transactions.values() for step in transaction]
        requests = requests_in(steps)
        self._connections()
        common = common_headers(requests)
        if common:
            self.draft.defaults["headers"] = common
        if len(self.draft.targets) <= 1:
            given = [each for group in self.draft.groups.values() for each in group.cookies.get("given", [])]
            for each in [*requests, *given]:
                each.pop("target", None)

    def _connections(self) -> None:
        """Set the connection mode and the connection timeout, which apply to all requests of the workload."""
        made = self.controllers.requests
        closing = [item for item, keeps in made.keepalive if not keeps]
        if closing and len(closing) == len(made.keepalive):
            self.draft.defaults["connections"] = "new_each_time"
        for item in closing if "connections" not in self.draft.defaults else []:
            why = "JMeter closes the connection after this request; users of the workload keep their connections"
            self.draft.notes.add(item.place, f"{item.tag} {item.name!r}: use_keepalive = 'false'", why)
        limits = {limit for _, limit in made.connecting}
        waits = ["at most 5 s for a connection"] if limits == {0.0} else []
        waits += ["at most 30 s for a response"] if made.endless else []
        if waits:
            why = f"JMeter waits without limit if a request has none; users of the workload wait {' and '.join(waits)}"
            self.draft.notes.add((1, 1), "timeouts", why)
        if len(limits) == 1 and limits != {0.0}:
            self.draft.defaults["connect_timeout"] = exact_duration(limits.pop())
            return
        for item, limit in made.connecting:
            if limit > 0:
                why = "differs between requests: the workload has one time limit for all connections, 5 s"
                self.draft.notes.add(item.place, f"{item.tag} {item.name!r}: connect_timeout = {limit:g} s", why)
