"""Reads manifests and other JSON objects of a results folder, and checks the types on which the analysis relies.

Unknown and missing keys are accepted, because a manifest may have another version or be incomplete.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator

from towtank.documents import malformed, record_of, without_malformed
from towtank.errors import Fault, StudyError
from towtank.files import read_regular
from towtank.problems import place_of, text_of

Level = str | int | float | bool
Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Unchecked = dict[str, object]
"""Type of a part of a file that must be a JSON object. Its reader checks the keys."""
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _Form(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class Factor(_Form):
    """A factor of the design with its levels."""

    name: str
    levels: list[Level] = Field(min_length=1)
    numeric: list[Number | None] | None = None


class Objective(_Form):
    """Keys and types of an objective in a study manifest."""

    text: str = ""
    metric: str | None = None
    value: Number | None = None
    users: Number | None = None
    rate: Number | None = None


class StudyForm(_Form):
    """Keys and types of the description of a study in its manifest."""

    name: str | None = None
    title: str | None = None
    question: str | None = None
    expect: str | None = None
    factors: list[Factor] | None = None
    load_factor: str | None = None
    design: Any = None
    stages: list[Unchecked] | None = None
    limits: dict[str, Number | None] | None = None
    objectives: list[Objective] | None = None
    claims: list[Unchecked] | None = None
    predict: Unchecked | None = None
    workload: Unchecked | None = None
    system: Unchecked | None = None


class StudyManifest(_Form):
    """Keys and types of `study.json`, the manifest of a study."""

    study: StudyForm | None = None
    design: Any = None
    versions: Unchecked | None = None
    host: Unchecked | None = None
    files: list[Unchecked] | None = None
    started_wall_ns: int | None = None

    @field_validator("study", mode="before")
    @classmethod
    def _named_only(cls, value: Any) -> Any:
        # The description in a study's manifest may be only a name. The manifests of the runs contain the full
        # description.
        return value if value is None or isinstance(value, dict) else {"name": str(value)}


class TierForm(_Form):
    """Keys and types of a tier in the manifest of a run."""

    kind: str | None = None
    host: str | None = None
    cpus: list[Count] | None = None


class PinningForm(_Form):
    """The CPUs to which the system and the load generator are pinned."""

    system: list[Count] | None = None
    generator: list[Count] | None = None


class RunManifest(_Form):
    """Keys and types of `run.json`, the manifest of a run."""

    run: str | None = None
    index: int | None = None
    repetition: int | None = None
    status: str | None = None
    factors: dict[str, Level] | None = None
    limits: dict[str, Number | None] | None = None
    users: Number | None = None
    rate: Number | None = None
    tiers: dict[str, TierForm] | None = None
    settings: dict[str, Unchecked | None] | None = None
    hosts: Unchecked | None = None
    pinning: PinningForm | None = None
    versions: Unchecked | None = None
    started_wall_ns: int | None = None
    ended_wall_ns: int | None = None


class TotalsForm(_Form):
    """Numbers of requests in a whole run, as counted by the engine. [1]"""

    offered: Count = 0
    started: Count = 0
    ok: Count = 0
    in_flight: Count = 0
    failed: dict[str, Count] | None = None
    not_started: dict[str, Count] | None = None


class IdentityForm(_Form):
    """True if the numbers of offered, and of started transactions add up."""

    offered_holds: bool = True
    started_holds: bool = True


class OwnUseForm(_Form):
    """Use of resources by the generator in a run: CPU time [s] and [µs], start lag [ms] and memory [byte]."""

    cpu_s: Number | None = None
    cpu_us_per_request: Number | None = None
    lag_p99_ms: Number | None = None
    peak_rss_bytes: int | float | None = None


class OpenFilesForm(_Form):
    """Number of tables of open files. [1]"""

    tables: Number | None = None


class EngineForm(_Form):
    """Keys and types of `engine.json`, the document of the engine about a run. Reasons have numbers of requests [1]."""

    reason: str | None = None
    message: str | None = None
    threads: Count | None = None
    cores: Count | None = None
    cpus: list[Count] | None = None
    generator: OwnUseForm | None = None
    totals: TotalsForm | None = None
    identity: IdentityForm | None = None
    open_files: OpenFilesForm | None = None
    connect_failures: dict[str, Count] | None = None
    broken_answers: dict[str, Count] | None = None
    unsendable: dict[str, Count] | None = None
    handshakes: dict[str, Count] | None = None
    failed_exchanges: list[Unchecked] | None = None
    _left_out: dict[str, str] = PrivateAttr(default_factory=dict)

    @property
    def left_out(self) -> dict[str, str]:
        """Malformed keys of the file, which have their defaults here, each with the fault."""
        return self._left_out

    @classmethod
    def read(cls, document: Mapping[str, object]) -> EngineForm:
        """Read the content of `engine.json`. A malformed key has its default, and `left_out` names it."""
        found = record_of(cls, document)
        found._left_out = malformed(cls, document)
        return found


def read_object(path: Path) -> dict[str, object]:
    """Read a file that contains a JSON object.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is not JSON.
    StudyError
        If the file contains JSON, but no object.
    """
    return object_of(path, read_regular(path))


def object_of(path: Path, text: str) -> dict[str, object]:
    """Return the JSON object in the text of a file. Raises the same exceptions as `read_object`."""
    try:
        document = json.loads(text)
    except RecursionError:
        raise ValueError("brackets that are nested too deeply") from None
    if not isinstance(document, dict):
        raise StudyError.at(path, f"must be a JSON object, got {type(document).__name__} instead")
    if _SURROGATE.search(text):
        # A surrogate that is not part of a pair cannot be encoded when the document is written or printed.
        whole: dict[str, object] = json.loads(
            _HALF_PAIR.sub("\N{REPLACEMENT CHARACTER}", json.dumps(document, ensure_ascii=False))
        )
        return whole
    return document


def checked(path: Path, document: dict[str, object], form: type[BaseModel]) -> dict[str, object]:
    """Check that a document has the keys and types of the model `form`, and return the document unchanged.

    Raises
    ------
    StudyError
        Lists every fault.
    """
    try:
        form.model_validate(document)
    except ValidationError as error:
        faults = {place_of(document, problem["loc"]): problem for problem in error.errors(include_url=False)}
        raise StudyError([Fault(str(path), 0, 0, place, text_of(each)) for place, each in faults.items()]) from None
    return document


def usable_part(document: Mapping[str, object], form: type[BaseModel]) -> Mapping[str, object]:
    """Return a document without the keys whose values are malformed, so that the other values can be displayed."""
    try:
        form.model_validate(document)
    except ValidationError as error:
        return without_malformed(document, error)
    return document
