"""Tests the claims of a study against its runs.

`places` selects the runs, `over_levels` tests claims about all levels of a factor, and `judging` gives the verdicts.
"""

from towtank.analysis.claims.judging import CLAIMS_FILE, judge, looks_of, of_manifest, run_to_run_of
from towtank.analysis.claims.verdicts import JudgedClaims
