"""Chooses the window that is analysed, and tests whether it is steady.

`window` chooses it, `by_stage` does so for one stage, `steady` tests it, `settling` waits for it while a run goes on.
"""
