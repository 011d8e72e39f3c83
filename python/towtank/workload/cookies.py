"""Defines the initial cookies of users, and how long users keep cookies from servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from towtank.fields import FileModel, Name
from towtank.units import shown
from towtank.workload import templates
from towtank.workload.httpfields import HeaderName, HeaderValue, check_path
from towtank.workload.texts import Template

# Number of cookies that the engine keeps per user; must be equal to `MOST` in the engine's cookies.rs. [1]
COOKIES_AT_MOST = 50
_KEPT = {"per_user": "user", "per_round": "round", "never": "never"}


def _value(text: str) -> str:
    if ";" in text:
        raise ValueError(f"must not contain ';', which ends a cookie, got {shown(text)} instead")
    return templates.check_plain(text)


def _path(text: str) -> str:
    check_path(text)
    return templates.check_plain(text)


class GivenCookie(FileModel):
    """Cookie that a user has from the beginning."""

    name: HeaderName = Field(description="Name of the cookie.")
    value: Annotated[HeaderValue, AfterValidator(_value)] = Field(description="Value of the cookie.")
    path: Annotated[Template, AfterValidator(_path)] = Field(
        "/", description="Path for which the cookie is sent, including all paths below."
    )
    target: Name | None = Field(
        None, description="Target that receives the cookie; default: `defaults.target`, or the only target."
    )


class Cookies(FileModel):
    """Initial cookies of users, and how long users keep cookies from servers."""

    kept: Literal["per_user", "per_round", "never"] = Field(
        "per_user",
        description=(
            "Lifetime of cookies from servers: until the user leaves (`per_user`), until the user's next round "
            "(`per_round`), or `never` kept. `once` belongs to the first round, `end` to the last."
        ),
    )
    given: list[GivenCookie] = Field(
        default_factory=list,
        max_length=COOKIES_AT_MOST,
        description=(
            "Initial cookies of each user; a server may replace or delete them. With `per_round`, they are set "
            "again in each round."
        ),
    )

    def plan(self, target_of: Callable[[GivenCookie], int]) -> dict[str, object]:
        """Return the settings of cookies in the form of the engine's plan (key `cookies`).

        `target_of` is a function that returns the index of the target to which a cookie belongs.
        """
        given = [
            {
                "target": target_of(cookie),
                "path": "".join(templates.literals(cookie.path)),
                "name": cookie.name,
                "value": "".join(templates.literals(cookie.value)),
            }
            for cookie in self.given
        ]
        return {"kept": _KEPT[self.kept], "given": given}
