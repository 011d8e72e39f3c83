"""The run folder on disk: the contract between running and analysing.

`folder` makes and opens the folders of a study and of its runs, `lines` reads and writes the checksummed
lines that every recorded stream is made of, `segments` reads what the engine recorded.
"""
