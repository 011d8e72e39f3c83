"""Chooses the analysed window, and tests whether it is steady.

`window` chooses the window of a run, `by_stage` that of a single stage, `steady` tests a window, `settling` waits for a
steady state during a run.
"""
