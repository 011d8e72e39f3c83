"""Concludes a study in a few sentences: what was found, what has no answer, how sure the answer is, and what to do.

`judged_claims` renders claims as statements, `findings` selects the statements, `certainty` states their support, and
`next_steps` lists instructions.
"""

from towtank.analysis.conclusion.concluding import Conclusion, conclude, headline_of

__all__ = ["Conclusion", "conclude", "headline_of"]
