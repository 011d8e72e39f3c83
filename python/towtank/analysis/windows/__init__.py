"""Chooses the analysed window, and tests it for a steady state.

`window` chooses the window of a run, and `by_stage` the window of a single stage. `steady` tests a window. `settling`
decides during a run when the system has become steady.
"""
