"""Compares two results: ratios with intervals over runs, a verdict, and what would have been seen.

`sides` reads results folders and files into runs, `baselines` keeps them under names, `lines` compares one figure,
`family` decides over all of them, `deciding` makes the verdict, `differing` lists what else differs.
"""

from towtank.analysis.comparing.baselines import baseline, keep
from towtank.analysis.comparing.deciding import SCHEMA, THRESHOLD, Compared, Finding, compare
from towtank.analysis.comparing.differing import Difference
from towtank.analysis.comparing.runs import Side
from towtank.analysis.comparing.sides import side_of

__all__ = ["SCHEMA", "THRESHOLD", "Compared", "Difference", "Finding", "Side", "baseline", "compare", "keep", "side_of"]
