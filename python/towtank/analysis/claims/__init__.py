"""Tests the claims of a study on its runs.

`places` finds the runs, `over_levels` judges claims about all levels of a factor, `judging` decides.
"""

from towtank.analysis.claims.judging import CLAIMS_FILE, SCHEMA, judge, of_manifest, run_to_run_of

__all__ = ["CLAIMS_FILE", "SCHEMA", "judge", "of_manifest", "run_to_run_of"]
