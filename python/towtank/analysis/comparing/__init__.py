"""Compares two results, A and B: ratios of measured quantities with intervals over the runs, a verdict, and the
smallest detectable change.

A measured quantity, such as the mean response time of one transaction, is called a figure. Each of the two results is
called a side.

`sides` reads results folders and files into runs, and `baselines` stores runs under a name. `lines` compares one figure
of both sides, and `failing` compares the shares of failures. `family` adjusts p-values for the number of figures.
`findings` gives a verdict on each figure, and `deciding` a verdict on all figures together. `power` computes which
changes the comparison can detect. `differing` lists differences of configuration and environment.
"""

from towtank.analysis.comparing.baselines import keep_baseline, read_baseline
from towtank.analysis.comparing.deciding import Compared, compare
from towtank.analysis.comparing.findings import AtLoad, Finding
from towtank.analysis.comparing.runs import Side
from towtank.analysis.comparing.sides import side_of
