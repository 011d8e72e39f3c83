"""The claims of a study, tested on its runs: `places` finds the runs, `courses` follows a factor, `judging` decides."""

from towtank.analysis.claims.judging import CLAIMS_FILE, SCHEMA, judge, of_manifest, run_to_run_of

__all__ = ["CLAIMS_FILE", "SCHEMA", "judge", "of_manifest", "run_to_run_of"]
