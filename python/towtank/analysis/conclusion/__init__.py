"""Concludes a study in a few sentences: what was found, what has no answer, how sure the answer is, and what to do.

`finding_words` renders claims as findings, `findings` selects the statements, `certainty` derives how sure they are,
and `next_steps` lists instructions.
"""

from towtank.analysis.conclusion.concluding import conclude

__all__ = ["conclude"]
