"""The window that is analysed, and whether it is steady.

`window` chooses it, `by_stage` is that of one stage, `steady` tests it, `settling` waits for it while a run goes on.
"""
