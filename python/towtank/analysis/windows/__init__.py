"""Chooses the window that is analysed, and tests whether it is steady.

`window` chooses the window of a run, `by_stage` the window of a single stage, `steady` tests a window, `settling`
decides during a run when the system has become steady.
"""
