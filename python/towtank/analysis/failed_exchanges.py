"""Describes the first failed exchanges of a run: step, check, expected value, value found, part of the response."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from towtank.digging import dig
from towtank.documents import document_of
from towtank.log_lines import plain_line
from towtank.results import EngineForm
from towtank.secrets import redacted_line

EXCHANGES_AT_MOST = 10
"""Largest number of failed exchanges in a document. [1]"""
_VALUE_AT_MOST = 200
_ANSWER_AT_MOST = 400
_NS = 1e9
_KEY = "failed_exchanges"


@dataclass(frozen=True)
class FailedExchange:
    """Request or call that failed. Texts are bounded and contain neither secrets nor control characters.

    Attributes
    ----------
    run : str or None
        Name of the run; None in the documents of single runs.
    at_s : float or None
        End of the exchange since the start of the run. [s]
    transaction, step : str
        Names of the transaction (empty outside of transactions) and of the step.
    failure : str
        Kind of the failure, such as `check`.
    check : str
        Requirement that was not met, such as `json $.id`.
    expected, got : str
        Required value, and value of the response; `got` is empty if the requirement concerns no single value.
    status : int or None
        Status code of the response.
    answer : str
        Start of the response body; empty if it was not recorded.
    """

    run: str | None
    at_s: float | None
    transaction: str
    step: str
    failure: str
    check: str
    expected: str
    got: str
    status: int | None
    answer: str

    @classmethod
    def read(cls, document: Mapping[str, object]) -> FailedExchange:
        """Read an exchange from `engine.json` or from a summary; missing and malformed values are left out."""
        at_ns, at_s, status = (document.get(key) for key in ("t_ns", "at_s", "status"))
        seconds = at_ns / _NS if isinstance(at_ns, int | float) else at_s
        texts = {
            key: _shown(document.get(key), _VALUE_AT_MOST)
            for key in ("transaction", "step", "failure", "check", "expected", "got")
        }
        return cls(
            run=None if (run := dig(document, "run")) is None else str(run),
            at_s=float(seconds) if isinstance(seconds, int | float) else None,
            status=status if isinstance(status, int) else None,
            answer=_shown(dig(document, "answer"), _ANSWER_AT_MOST),
            **texts,
        )

    @property
    def requirement(self) -> tuple[str, ...]:
        """Step and requirement; exchanges with the same ones are alike."""
        return (self.transaction, self.step, self.failure, self.check)

    @property
    def place(self) -> str:
        """Transaction and step as one text."""
        return " / ".join(name for name in (self.transaction, self.step) if name)

    @property
    def words(self) -> str:
        """Required value and value found, as one line: `json $.id: expected 7, got 8 (status 200)`."""
        got = f", got {self.got}" if self.got else ""
        status = f" (status {self.status})" if self.status is not None and self.check != "status" else ""
        return f"{self.check or self.failure}: expected {self.expected or 'none'}{got}{status}"

    @property
    def lines(self) -> list[str]:
        """Place, requirement, and the part of the response, as lines of text."""
        run = f"{self.run}, " if self.run else ""
        time = "" if self.at_s is None else f" at {self.at_s:.1f} s"
        return [f"{run}{self.place}{time}: {self.words}", *([f"  answer: {self.answer}"] if self.answer else [])]


def failed_exchanges(engine: EngineForm | None) -> list[dict[str, object]] | None:
    """Return the first failed exchanges of a run, one for each step and requirement, in the order of their times.

    Parameters
    ----------
    engine : EngineForm or None
        `engine.json`.

    Returns
    -------
    list of dict or None
        At most `EXCHANGES_AT_MOST` exchanges; None if the engine did not record them.
    """
    recorded = None if engine is None else engine.failed_exchanges
    return None if recorded is None else list(map(document_of, read_exchanges({_KEY: recorded})))


def read_exchanges(summary: Mapping[str, object]) -> list[FailedExchange]:
    """Read the failed exchanges of a summary or of `engine.json`; empty if none were recorded."""
    found = dig(summary, _KEY)
    given = found if isinstance(found, list) else []
    return [FailedExchange.read(each) for each in given[:EXCHANGES_AT_MOST] if isinstance(each, Mapping)]


def exchanges_of_runs(runs: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return the failed exchanges of a study, each with its run: the first of each step and requirement."""
    found: dict[tuple[str, ...], FailedExchange] = {}
    for run in runs:
        for each in read_exchanges(run):
            found.setdefault(each.requirement, replace(each, run=str(dig(run, "run"))))
    return list(map(document_of, list(found.values())[:EXCHANGES_AT_MOST]))


def _shown(text: object, at_most: int) -> str:
    """Return a text of a server for people: without secrets and control characters, and cut."""
    if not isinstance(text, str):
        return "" if text is None else str(text)[:at_most]
    line = " ".join(redacted_line(plain_line(text.encode("utf-8", "replace"))).split())
    return line if len(line) <= at_most else f"{line[: at_most - 1]}…"
