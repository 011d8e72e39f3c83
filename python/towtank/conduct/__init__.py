"""Conducts measurements: single runs, studies, and loads on a target without a study.

`study` executes the design of a study, `run` one run, `drive` loads one target without a study. `stopping` turns
Ctrl-C into a request that every step checks, `pinning` assigns the CPUs, `display` shows progress.
"""
