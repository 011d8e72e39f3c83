"""Wording of a verdict, the same on all screens, in all files and in Python."""


def verdict_words(verdict: str, *, relaxed: object) -> str:
    """Add to a verdict that limits were relaxed, if they were.

    Parameters
    ----------
    verdict : str
        The verdict in words, such as `valid`.
    relaxed : object
        Relaxed limits in any form; false if no limit was relaxed.

    Examples
    --------
    >>> verdict_words("valid", relaxed=["interference"]), verdict_words("valid", relaxed=[])
    ('valid with relaxed limits', 'valid')
    """
    return f"{verdict} with relaxed limits" if relaxed else verdict
