"""Type of the fields of steps that contain templates."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from towtank.fields import Text
from towtank.workload import templates

Template = Annotated[Text, AfterValidator(templates.check)]
