"""One run from start to stop; one study from its first run to its last.

`study` goes through the design, `run` does one run, `drive` loads one target without a study. `stopping` turns
Ctrl-C into a request that every step polls, `pinning` shares out the CPUs, `display` shows what happens.
"""
