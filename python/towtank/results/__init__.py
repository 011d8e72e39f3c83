"""Stores results in folders on disk: running a study writes the folders, the analysis reads them.

`folder` creates and opens the folders of a study and its runs, `lines` reads and writes the checksummed lines of
every recorded stream, and `segments` reads the records of the engine.
"""
