"""Sizing: ratings of machines, the hardware that a load needs, and rules of thumb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.size.asking import size_source as size_source
    from towtank.size.asking import why_no_source as why_no_source
    from towtank.size.basis import MODELS as MODELS
    from towtank.size.basis import ModelChoice as ModelChoice
    from towtank.size.basis import load_basis as load_basis
    from towtank.size.machines import Machine as Machine
    from towtank.size.machines import catalogue as catalogue
    from towtank.size.machines import check_machines as check_machines
    from towtank.size.machines import load_machines as load_machines
    from towtank.size.rating import Estimate as Estimate
    from towtank.size.rating import Measurement as Measurement
    from towtank.size.rating_document import Rated as Rated
    from towtank.size.rating_document import against_document as against_document
    from towtank.size.rating_document import check_machine_name as check_machine_name
    from towtank.size.rating_document import machine_name as machine_name
    from towtank.size.rating_document import machine_text as machine_text
    from towtank.size.rating_document import reference_values as reference_values
    from towtank.size.sizing import SizingSettings as SizingSettings
    from towtank.size.sizing import size as size

__getattr__, __dir__ = door(
    __name__,
    {
        "asking": "size_source why_no_source",
        "basis": "MODELS ModelChoice load_basis",
        "machines": "Machine catalogue check_machines load_machines",
        "rating": "Estimate Measurement",
        "rating_document": "Rated against_document check_machine_name machine_name machine_text reference_values",
        "sizing": "SizingSettings size",
    },
)
