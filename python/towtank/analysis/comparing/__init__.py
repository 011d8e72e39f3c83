"""Compares two results: ratios with intervals over runs, a verdict, and what would have been seen.

`sides` reads results folders and files into runs, `baselines` keeps them under names, `lines` compares one figure,
`failing` the failures, `family` adjusts for the number of figures, `findings` judges each, `power` computes what would
have been found, `deciding` makes the verdict, `differing` lists what else differs.
"""

from towtank.analysis.comparing.baselines import baseline, keep
from towtank.analysis.comparing.deciding import SCHEMA, THRESHOLD, Compared, compare
from towtank.analysis.comparing.differing import Difference
from towtank.analysis.comparing.findings import AtLoad, Finding
from towtank.analysis.comparing.runs import Side
from towtank.analysis.comparing.sides import side_of

__all__ = [
    "SCHEMA",
    "THRESHOLD",
    "AtLoad",
    "Compared",
    "Difference",
    "Finding",
    "Side",
    "baseline",
    "compare",
    "keep",
    "side_of",
]
