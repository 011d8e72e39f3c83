"""Defines the steps of pages and transactions. Each step is a mapping with a key that identifies its kind, such as
`get`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from towtank.fields import FileModel, Name, Share, Size, Text, mapping_or_plain, one_or_more
from towtank.secrets import redacted_text
from towtank.units import shown
from towtank.workload import expressions, templates
from towtank.workload.calls import CallStep, FileStep, Sql, Tcp
from towtank.workload.directories import Ldap
from towtank.workload.durations import PositiveTimedDuration
from towtank.workload.httpfields import HeaderName, HeaderValue, SentHeaderName, check_path
from towtank.workload.noted import Reads, Removes, Replaces, Stores, given
from towtank.workload.parts import Part, Parts
from towtank.workload.pauses import Pause
from towtank.workload.texts import Template
from towtank.workload.unknown_steps import misspelt_step, no_step

METHODS = ("get", "post", "put", "delete", "head", "patch")

JsonPath = Annotated[str, AfterValidator(expressions.json_path)]
Regex = Annotated[str, AfterValidator(expressions.regex)]
CapturingRegex = Annotated[str, AfterValidator(expressions.capturing_regex)]


def _check_json(value: Any) -> Any:
    """Check the templates in a JSON body. Each fault contains the path of the faulty text."""
    details = [
        InitErrorDetails(type=PydanticCustomError("value_error", "{error}", {"error": message}), loc=path, input=text)
        for path, text, message in _wrong_texts(value, ())
    ]
    if details:
        raise ValidationError.from_exception_data("json", details)
    return value


def _wrong_texts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    if isinstance(value, str):
        try:
            templates.check(value)
        except ValueError as error:
            yield path, value, str(error)
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from _wrong_texts(inner, (*path, key))


class SizeRange(FileModel):
    """Smallest and largest size of a response body that pass a check."""

    min: Size = Field(0, description="Smallest size that passes the check.")
    max: Size | None = Field(None, description="Largest size that passes the check; default: no upper limit.")


SizeOrRange = Annotated[
    Annotated[SizeRange, Tag("<mapping>")] | Annotated[Size, Tag("<plain>")], Discriminator(mapping_or_plain)
]


class Check(FileModel):
    """Checks of an HTTP response. The step fails if a check fails."""

    status: (
        Annotated[list[int | str], BeforeValidator(one_or_more, json_schema_input_type=int | str | list[int | str])]
        | None
    ) = Field(
        None, description="Accepted HTTP statuses: a status, a class such as `2xx`, or a list; default: 2xx and 3xx."
    )
    size: SizeOrRange | None = Field(None, description="Required size of the body: a size, or `{min, max}`.")
    contains: Annotated[
        list[Template], BeforeValidator(one_or_more, json_schema_input_type=Template | list[Template])
    ] = Field(default_factory=list, description="Texts that the response body must contain.")
    not_contains: Annotated[
        list[Template], BeforeValidator(one_or_more, json_schema_input_type=Template | list[Template])
    ] = Field(default_factory=list, description="Texts that the response body must not contain.")
    regex: Annotated[list[Regex], BeforeValidator(one_or_more, json_schema_input_type=Regex | list[Regex])] = Field(
        default_factory=list, description="Regular expressions that must match in the response body."
    )
    not_regex: Annotated[list[Regex], BeforeValidator(one_or_more, json_schema_input_type=Regex | list[Regex])] = Field(
        default_factory=list, description="Regular expressions that must not match in the response body."
    )
    json_: dict[JsonPath, Template | None] = Field(
        default_factory=dict,
        alias="json",
        description="Required values in a JSON response, by JSON path; `null` accepts any value.",
    )
    header: dict[HeaderName, Template] = Field(
        default_factory=dict, description="Text that each named response header must contain."
    )

    @model_validator(mode="after")
    def _statuses(self) -> Check:
        for status in self.status or []:
            if isinstance(status, int) and 100 <= status <= 599:
                continue
            if isinstance(status, str) and status in {"1xx", "2xx", "3xx", "4xx", "5xx"}:
                continue
            raise ValueError(f"must have a status from 100 to 599 or a class such as 2xx, got {status!r} instead")
        return self


class Extract(FileModel):
    """Value to extract from a response."""

    json_: JsonPath | None = Field(None, alias="json", description="JSON path of the value in the response body.")
    header: HeaderName | None = Field(None, description="Name of the response header whose value is extracted.")
    regex: CapturingRegex | None = Field(
        None,
        description="Regular expression for the response body; extracts its group, or without a group the whole match.",
    )
    status: Literal[True] | None = Field(None, description="Extracts the HTTP status of the response.")
    pick: Literal["first", "last", "random", "all", "append", "count"] = Field(
        "first",
        description="Match to extract: `all` fills a list, `append` extends a list, `count` counts the matches.",
    )
    required: bool = Field(True, description="If true, the step fails if there is no value to extract.")
    default: Text | None = Field(
        None, description="Value of the variable if there is no value to extract; the step does not fail then."
    )

    @model_validator(mode="after")
    def _one(self) -> Extract:
        given = [name for name in ("json", "header", "regex", "status") if self.source.get(name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"must have one of json, header, regex and status, got {' and '.join(given) or 'none'} instead"
            )
        return self

    @property
    def source(self) -> dict[str, object]:
        """Sources of an extracted value, by their names in the file and in the engine's plan; only one is set."""
        return {"json": self.json_, "header": self.header, "regex": self.regex, "status": self.status}

    @property
    def fills_list(self) -> bool:
        """True if the extracted values go into a list and not into a variable."""
        return self.pick in {"all", "append"}


def _extract(value: object) -> object:
    """Convert a plain JSON path to an extraction of the first match."""
    return {"json": value} if isinstance(value, str) else value


class Auth(FileModel):
    """Credentials for Basic authentication."""

    user: Template = Field(description="User name for Basic authentication.")
    password: Template = Field(description="Password for Basic authentication.")


AuthOrNone = Annotated[
    Annotated[Auth, Tag("<mapping>")] | Annotated[Literal["none"], Tag("<plain>")], Discriminator(mapping_or_plain)
]


class Request(FileModel):
    """HTTP request, with checks of its response and values to extract."""

    get: Template | None = Field(None, description="Path of a GET request.")
    post: Template | None = Field(None, description="Path of a POST request.")
    put: Template | None = Field(None, description="Path of a PUT request.")
    delete: Template | None = Field(None, description="Path of a DELETE request.")
    head: Template | None = Field(None, description="Path of a HEAD request.")
    patch: Template | None = Field(None, description="Path of a PATCH request.")
    name: str | None = Field(None, min_length=1, description="Name in the results; default: method and path.")
    target: Name | None = Field(None, description="Target of the request; default: `defaults.target`.")
    query: dict[str, Template] = Field(
        default_factory=dict, description="Query parameters by name; Towtank percent-encodes them."
    )
    headers: dict[SentHeaderName, HeaderValue] = Field(
        default_factory=dict, description="Headers to send in addition to `defaults.headers`."
    )
    auth: AuthOrNone | None = Field(
        None,
        description="User and password for Basic authentication of the request, or `none`; default: `defaults.auth`.",
    )
    form: dict[str, Template] | None = Field(None, description="Form fields to send as the body; Towtank encodes them.")
    json_: Annotated[Any, AfterValidator(_check_json)] = Field(
        None, alias="json", description="JSON to send as the body; its texts may be templates."
    )
    body: Template | None = Field(None, description="Text to send as the body, without encoding.")
    file: str | None = Field(None, min_length=1, description="File to send as the body, relative to the workload file.")
    multipart: Parts | None = Field(
        None, description="Parts of a multipart body: by name, or as a list whose names may repeat."
    )
    check: Check | None = Field(None, description="Checks of the response; the step fails if one of them fails.")
    extract: dict[Name, Annotated[Extract, BeforeValidator(_extract, json_schema_input_type=str | Extract)]] = Field(
        default_factory=dict, description="Variables to set, each with the part of the response that is its value."
    )
    timeout: PositiveTimedDuration | None = Field(
        None, description="Time limit of the whole response; default: `defaults.timeout`."
    )
    on_failure: Literal["end", "go_on"] = Field(
        "end",
        description=(
            "After a failure of this request: `end` ends the transaction, `go_on` continues with the next step."
        ),
    )
    stores: Stores = None
    replaces: Replaces = None
    removes: Removes = None
    reads: Reads = None

    @model_validator(mode="after")
    def _one(self) -> Request:
        methods = [name for name in METHODS if getattr(self, name) is not None]
        if len(methods) != 1:
            raise ValueError(f"must have one of {', '.join(METHODS)}, got {' and '.join(methods)} instead")
        bodies = self.bodies
        if len(bodies) > 1:
            raise ValueError(f"must have one body, got {' and '.join(bodies)} instead")
        check_path(self.path)
        return self

    @model_validator(mode="after")
    def _noted(self) -> Request:
        noted = given(self)
        if noted and noted[0] in ("stores", "replaces") and not self._has_content():
            raise ValueError(
                f"must have exactly one content if it {noted[0]} an item: a body, or one file or generated part"
            )
        return self

    def _has_content(self) -> bool:
        """Return True if the request sends a body, or one file or generated part, whose digest can be recorded."""
        if self.multipart is None:
            return bool(self.bodies)
        return sum(part.value is None for _, _, part in self.parts) == 1

    @property
    def parts(self) -> list[tuple[str | int, str, Part]]:
        """Parts of a multipart body, each with its key or index in the file and its name."""
        if isinstance(self.multipart, list):
            return [(index, part.name, part) for index, part in enumerate(self.multipart)]
        return [(name, name, part) for name, part in (self.multipart or {}).items()]

    @property
    def method(self) -> str:
        return next(name for name in METHODS if getattr(self, name) is not None).upper()

    @property
    def path(self) -> str:
        path = getattr(self, self.method.lower())
        assert isinstance(path, str)  # `method` raises an error if no method has a path, so the path is set
        return path

    @property
    def bodies(self) -> list[str]:
        """Keys of the request that define a body; a valid request has at most one."""
        given = {
            "form": self.form,
            "json": self.json_,
            "body": self.body,
            "file": self.file,
            "multipart": self.multipart,
        }
        return [name for name, value in given.items() if value is not None]

    @property
    def title(self) -> str:
        """Name of the request in the results. Secrets in a query are hidden."""
        return redacted_text(self.written) if self.name is None else self.name

    @property
    def written(self) -> str:
        """Name of the request as written in the file, with the secrets that `title` hides."""
        return self.name or f"{self.method} {self.path}"


class Think(FileModel):
    """Pause of the user inside a transaction."""

    think: Pause = Field(description="Duration of a pause of the user.")


class Draw(FileModel):
    """Reads the next row of a data pool into variables."""

    draw: Name = Field(description="Name of the pool to draw the next row from.")
    as_: Name | None = Field(
        None, alias="as", description="Name for the drawn row, used in templates; default: the name of the pool."
    )


class Set(FileModel):
    """Sets variables of the user."""

    set: dict[Name, Template] = Field(min_length=1, description="Variables to set, each with its value.")


class Push(FileModel):
    """Appends a value to a list of the user."""

    push: Template = Field(description="Value to append to the list.")
    to: Name = Field(description="Name of the list to append to.")


class Pop(FileModel):
    """Removes a value from a list; if the list is empty, the variable becomes empty."""

    pop: Name = Field(description="Name of the list to remove a value from.")
    into: Name = Field(description="Name of the variable that receives the removed value.")
    pick: Literal["first", "last", "random"] = Field("last", description="Value of the list to remove.")


class Pick(FileModel):
    """Copies a random value of a list into a variable, which becomes empty if the list is empty."""

    pick: Name = Field(description="Name of the list to read a random value from.")
    into: Name = Field(description="Name of the variable that receives the value.")


class Branch(FileModel):
    """Executes one of two lists of steps, chosen at random."""

    branch: Share = Field(description="Probability of the steps in `then`, for example `30 %`.")
    then: list[Step] = Field(min_length=1, description="Steps to execute with the probability in `branch`.")
    else_: list[Step] = Field(default_factory=list, alias="else", description="Steps to execute in all other cases.")


def _condition(value: object) -> object:
    """Refuse a condition that is an expression. The message has a hint, because other tools accept expressions."""
    if not isinstance(value, dict | Condition):
        raise ValueError(
            f"must be {{filled: VARIABLE}} or {{empty: VARIABLE}}, got {shown(value)} instead: values are not compared "
            "(a check or an extraction with a regex can leave a variable empty)"
        )
    return value


class Condition(FileModel):
    """Condition on a variable: empty, or not empty."""

    filled: Name | None = Field(None, description="Name of a variable that must not be empty.")
    empty: Name | None = Field(None, description="Name of a variable that must be empty.")

    @model_validator(mode="after")
    def _one(self) -> Condition:
        if (self.filled is None) == (self.empty is None):
            raise ValueError("must have one of filled and empty, got " + ("both" if self.filled else "none"))
        return self


class If(FileModel):
    """Executes a list of steps if a condition holds, otherwise another list."""

    if_: Annotated[Condition, BeforeValidator(_condition, json_schema_input_type=Condition)] = Field(
        alias="if", description="Condition on a variable: `{filled: VARIABLE}` or `{empty: VARIABLE}`."
    )
    then: list[Step] = Field(min_length=1, description="Steps to execute if the condition is true.")
    else_: list[Step] = Field(
        default_factory=list, alias="else", description="Steps to execute if the condition is false."
    )


class Count(FileModel):
    """Number of repetitions, which is chosen at random between two bounds for each execution."""

    min: int = Field(ge=0, le=1_000_000, description="Smallest number of repetitions.")
    max: int = Field(ge=1, le=1_000_000, description="Largest number of repetitions.")

    @model_validator(mode="after")
    def _ordered(self) -> Count:
        if self.max < self.min:
            raise ValueError(f"must have max at least {self.min}, got {self.max} instead")
        return self


def _count(value: object) -> object:
    """Convert a plain number to a count whose lower and upper bound are this number."""
    if isinstance(value, dict | Count):
        return value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"must be a number of times from 1, or {{min, max}}, got {value!r} instead")
    return {"min": value, "max": value}


class Repeat(FileModel):
    """Repeats steps in a loop."""

    loop: Annotated[Count, BeforeValidator(_count, json_schema_input_type=int | Count)] = Field(
        description="Number of repetitions: a number, or `{min, max}`."
    )
    steps: list[Step] = Field(min_length=1, description="Steps to repeat.")


CALLS: dict[str, type[CallStep]] = {"sql": Sql, "file": FileStep, "tcp": Tcp, "ldap": Ldap}
"""Classes of steps that use a driver, by the key that identifies the step."""

# Kinds of steps by their keys. The brackets distinguish a kind from a key of the file in pydantic's error paths.
_KINDS = {
    **dict.fromkeys(METHODS, "<request>"),
    **{key: f"<{key}>" for key in CALLS},
    **{key: f"<{key}>" for key in ("think", "draw", "set", "push", "pop", "branch", "if", "loop")},
}


def _known(value: Any) -> Any:
    """Refuse a mapping that is not a step, with a message about its keys."""
    if isinstance(value, dict) and _kind(value) is None:
        keys = [*_KINDS, "pick"]
        misspelt = misspelt_step(value, keys)
        if misspelt is not None:
            raise ValidationError.from_exception_data("step", [misspelt])
        raise ValueError(no_step(value, keys))
    return value


def _kind(value: Any) -> str | None:
    """Return the kind of a step, derived from its keys; None if it is not a step. `pick` counts last, because it is
    only an option in a step with `pop`."""
    if isinstance(value, dict):
        found = next((kind for key, kind in _KINDS.items() if key in value), None)
        return found or ("<pick>" if "pick" in value else None)
    return None


Step = Annotated[
    Annotated[Request, Tag("<request>")]
    | Annotated[Sql, Tag("<sql>")]
    | Annotated[FileStep, Tag("<file>")]
    | Annotated[Tcp, Tag("<tcp>")]
    | Annotated[Ldap, Tag("<ldap>")]
    | Annotated[Think, Tag("<think>")]
    | Annotated[Draw, Tag("<draw>")]
    | Annotated[Set, Tag("<set>")]
    | Annotated[Push, Tag("<push>")]
    | Annotated[Pop, Tag("<pop>")]
    | Annotated[Pick, Tag("<pick>")]
    | Annotated[Branch, Tag("<branch>")]
    | Annotated[If, Tag("<if>")]
    | Annotated[Repeat, Tag("<loop>")],
    Discriminator(
        _kind,
        custom_error_type="unknown_step",
        custom_error_message=f"must be a step with one of the keys {', '.join([*_KINDS, 'pick'])}",
    ),
    BeforeValidator(_known),
]
