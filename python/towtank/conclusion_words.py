"""Words in the conclusion of a study that the report looks for."""

NOT_REPEATED = "Nothing was repeated"
"""Beginning of the sentence about a study with one run of each level."""
FOLDER = "FOLDER"
"""Word in a command of a conclusion that stands for the results folder."""
