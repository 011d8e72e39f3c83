"""Renders the verdict on a measurement as text."""


def verdict_words(verdict: str, *, relaxed: object) -> str:
    """Append `with relaxed limits` to a verdict in words, such as `valid`, if any limits were relaxed.

    Examples
    --------
    >>> verdict_words("valid", relaxed=["interference"]), verdict_words("valid", relaxed=[])
    ('valid with relaxed limits', 'valid')
    """
    return f"{verdict} with relaxed limits" if relaxed else verdict
