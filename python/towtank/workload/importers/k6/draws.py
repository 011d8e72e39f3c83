"""Converts random values that a script generates in a round: numbers, texts, times, and rows of data.

A script generates a value once and may read it several times. During the conversion, a step (`set` or `draw`) sets each
value under a temporary name. Afterwards, a value that is read only once replaces the reference to it, and all other
values get final names. A row gets the name of its pool, unless another row of the pool is in use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from towtank.workload.importers.draft import ImportDraft, Step, identifier
from towtank.workload.importers.k6.intervals import ALL, Intervals, meet
from towtank.workload.importers.k6.settling import PREFIX, drawn, every, names_in, settled
from towtank.workload.importers.k6.values import Random, Row, Table, Text

Place = tuple[int, int]
# Tolerance for rounding to whole numbers: bounds of conditions are computed as ratios, which are not exact. [1]
_WHOLE = 1e-6
# Longest random text that a template can generate. [character]
_TEXT_AT_MOST = 2**20
_FEWER = "chooses among {} of the {} rows in k6; the workload draws from all rows"
_OTHER_CHARACTERS = "consists of letters and digits, not of the characters of the script"
_AGAIN = "is generated once in k6; the workload generates it again for each kind of use"


@dataclass
class _Number:
    """Random number of a script: the position where it is generated, and its uses so far.

    Attributes
    ----------
    values : dict of str to str
        Template of each variable that holds the number.
    named : dict of str to str
        Variable for each template, the inverse of `values`.
    written : dict of Intervals to Counter of str
        Number of uses by template; the template of a pause is empty. The keys are the values of the number that the
        conditions around a use permit.
    """

    place: Place
    shown: str
    base: str
    values: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    written: dict[Intervals, Counter[str]] = field(default_factory=dict)

    def use(self, part: Intervals, kind: str) -> None:
        """Count a use of the number. `kind` is the template that is used, or an empty text for a pause."""
        self.written.setdefault(part, Counter())[kind] += 1


class Draws:
    """Creates the steps for random values, and completes them when all statements are converted. `add` adds a step at
    the current position.
    """

    def __init__(self, draft: ImportDraft, add: Callable[[Step], None]) -> None:
        self.draft = draft
        self.add = add
        # `left`: values of each random number that are possible at the current position. `asked`: numbers that an
        # earlier condition has tested.
        self.left: dict[int, Intervals] = {}
        self.asked: set[int] = set()
        # Index of the first random number that is generated inside the current loop. Numbers with a lower index were
        # generated before the loop, so every iteration uses the same values of them.
        self.loop_from = 0
        # Rows that were already read at the current position, by pool, random number of the index, and range of the
        # index.
        self.rows: dict[tuple[str, int, float, float], Row] = {}
        self._pools_of: dict[int, set[str]] = {}
        self._numbers: dict[int, _Number] = {}
        self._bases: dict[str, str] = {}
        self._count = 0

    def _named(self, base: str) -> str:
        self._count += 1
        name = f"{PREFIX}{self._count}"
        self._bases[name] = identifier(base, "value")
        return name

    def called(self, name: str, values: list[Any], place: Place, shown: str, hint: str) -> Text | Random | None:
        """Return the value of a function that generates a random value; None for all other functions. `shown` is the
        text of the call, for notes; `hint` is the script variable to which the value is assigned, if any.
        """
        numbers = [each for each in values if isinstance(each, int | float)]
        base = hint or name.rpartition(".")[2]
        if name == "Math.random":
            return self._number(Random(0.0, 1.0), _Number(place, shown, base))
        if name == "randomIntBetween" and len(numbers) == 2:
            return self._number(Random(numbers[0], numbers[1] + 1, whole=True), _Number(place, shown, base))
        if name == "randomString" and numbers and 1 <= numbers[0] <= _TEXT_AT_MOST:
            if len(values) > 1:
                self.draft.notes.add(place, shown, _OTHER_CHARACTERS)
            return self._text(f"${{random.text({int(numbers[0])})}}", base)
        if name in {"uuidv4", "crypto.randomUUID"}:
            return self._text("${uuid}", base)
        if name in {"Date.now", "Date"} and not values:
            return self._text("${now.ms}", base, number=True)
        return None

    def _text(self, template: str, base: str, *, number: bool = False) -> Text:
        name = self._named(base)
        self.add({"set": {name: template}})
        return Text(f"${{{name}}}", number)

    def _number(self, drawn: Random, number: _Number) -> Random:
        self._numbers[drawn.draw] = number
        self.add({"set": number.values})
        return drawn

    def row(self, table: Table, index: Any) -> Row:
        """Return a new random row of a pool, or the row that the same random index has selected before."""
        key = (table.pool, index.draw, index.low, index.high) if isinstance(index, Random) else None
        if key is not None and key in self.rows:
            return self.rows[key]
        self._count += 1
        row = Row(table, f"{table.pool}__row{self._count}")
        self.add({"draw": table.pool, "as": row.name})
        if key is not None:
            self._note_index(table, index)
            self.rows[key] = row
        return row

    def _note_index(self, table: Table, index: Random) -> None:
        """Add a note if a random index can select only some rows, or has another use in the script."""
        number = self._numbers.get(index.draw)
        if number is None:
            return
        choices = index.high - index.low
        if (index.low, index.high) != (0, table.length) and not table.open:
            self.draft.notes.add(number.place, number.shown, _FEWER.format(f"{choices:g}", table.length))
        if number.written or index.draw in self._pools_of or index.draw in self.asked:
            self.draft.notes.add(number.place, number.shown, _AGAIN)
        self._pools_of.setdefault(index.draw, set()).add(table.pool)

    def template(self, value: Random) -> str | None:
        """Return the template placeholder for a random number. Two expressions that always have the same value get the
        same placeholder.
        """
        found = self._numbers.get(value.draw)
        left = self.left.get(value.draw, ALL)
        part = _part(value, left)
        template = (part or value).template()
        if template is None or found is None:
            return template
        if part is None or value.draw in self._pools_of or self._differs(value.draw, left, template):
            self.draft.notes.add(found.place, found.shown, _AGAIN)
        found.use(left, template)
        name = found.named.get(template) or self._named(found.base)
        found.values[name], found.named[template] = template, name
        return f"${{{name}}}"

    def paused(self, value: Random) -> None:
        """Record the use of a random number as a pause. Add a note if it has other uses, because the workload generates
        a separate number for the pause.
        """
        found = self._numbers.get(value.draw)
        if found is None:
            return
        if value.draw < self.loop_from or value.draw in self._pools_of or self._differs(value.draw, ALL, ""):
            self.draft.notes.add(found.place, found.shown, _AGAIN)
        found.use(ALL, "")

    def _differs(self, draw: int, left: Intervals, use: str) -> bool:
        """Return True if a random number was tested before, or was used before with a different template.

        Only uses for values in `left` count. `use` is the template of the current use; it is empty for a pause, which
        differs from all templates.
        """
        return draw in self.asked or any(
            (not use or len(kinds) > 1 or use not in kinds) and meet(part, left)
            for part, kinds in self._numbers[draw].written.items()
        )

    def depends(self, draw: int) -> bool:
        """Return True if a random number was tested or used before, so that a new condition on the number depends on
        that test or use.
        """
        sent = self._numbers[draw].written if draw in self._numbers else {}
        again = draw in self.asked or draw < self.loop_from
        return again or any(meet(part, self.left.get(draw, ALL)) for part in sent)

    def fence(self) -> int:
        """Return the index that the next random number will have."""
        return Random(0.0, 1.0).draw

    def settle(self, steps: list[Step], first: list[Step], before: list[Step]) -> tuple[list[Step], list[Step]]:
        """Complete the random values of a transaction. Return the steps of each round, and those of a user's first
        round, with the random values that they read. `before` are steps that generate values outside of functions,
        which each user executes once.
        """
        early = names_in([first])
        own = {name for step in every(steps) for name in drawn(step)}
        # The first round is a separate transaction that runs before all others, so it must generate its random values
        # itself.
        lent = [step for step in every(steps) if early & set(drawn(step))]
        for name in sorted(early & {name for step in lent for name in drawn(step)}):
            why = "is drawn anew for the first round, which is a separate transaction"
            self.draft.notes.add((1, 0), self._bases.get(name, name.partition("__")[0]), why)
        outside = (early | names_in([steps])) - own
        outer = [step for step in before if outside & set(drawn(step))]
        return settled([*outer, *lent, *first], steps, self._bases, self.draft.data)


def _part(value: Random, left: Intervals) -> Random | None:
    """Return a random integer restricted to `left`; None if this is not a single range of integers."""
    if left == ALL:
        return value
    size = value.high - value.low
    low, high = left[0][0] * size if left else 0.5, left[-1][1] * size if left else 0.5
    whole = abs(low - round(low)) < _WHOLE and abs(high - round(high)) < _WHOLE
    if len(left) != 1 or not whole or round(high) <= round(low):
        return None
    return Random(value.low + round(low), value.low + round(high), value.whole, value.draw)
