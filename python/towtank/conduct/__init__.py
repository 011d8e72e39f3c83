"""Conducting measurements: one run from start to stop, one study from its first run to its last.

`study` goes through the design, `run` does one run, `drive` loads one target without a study. `stopping` turns Ctrl-C
into a request that every step checks, `pinning` assigns the CPUs, `display` shows progress.
"""
