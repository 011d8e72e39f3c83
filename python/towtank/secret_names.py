"""Decides from the name of a key, header or parameter whether its value is a secret."""

from __future__ import annotations

import re

# Last words of names whose values are secrets, such as `X-Api-Key`.
WORDS = (
    r"passwords?|passwd|passphrase|passcode|pwd|secrets?|tokens?|api_?keys?|access_?keys?|private_?keys?|"
    r"account_?keys?|subscription_?keys?|(?:auth|signing|signature|encryption|master|shared|license)_?keys?|"
    r"auth|authorization|credentials?|cookies?|session_?id|jsessionid|phpsessid|signature|sig|jwt|bearer|otp"
)
# Words that end like a secret's name, such as `dbpass` and `csrftoken`.
_GLUED = r"(?!(?:by|com|encom|sur|tres|over|under)pass$)[a-z]*(?:pass|password|passwd|pwd|secret|token)"
_SECRET = re.compile(rf"(?:^|[^a-z])x?(?:{WORDS}|pw|pin|cvc|cvv|{_GLUED})$")
# Words for keys and codes, whose values may grant access, but may also be sort keys or numbers of items.
_DOUBTFUL = re.compile(r"(?:^|[^a-z])(?:sid|codes?|[a-z]+_keys?)$")
_HARMLESS_TAILS = re.compile(
    r"(?:^|_)(?:"
    r"(?:cache|foreign|group|index|object|order|partition|primary|row|shard|sort|unique)_?keys?|"
    r"(?:area|city|colou?r|country|currency|error|exit|http|lang|language|post|postal|product|reason|region|"
    r"response|result|return|state|status|zip)_?codes?)$"
)
# Names of query parameters that select, sort or limit results, so their values are not secrets.
_HARMLESS = re.compile(
    r"page|pages|size|sort|order|direction|dir|by|limit|offset|q|m|r|x|y|z|id|ids|count|max|min|top|skip|start|"
    r"end|from|to|lang|language|locale|format|type|types|kind|view|mode|category|section|tab|tag|tags|action|"
    r"selector|cmisselector|cmisaction|items|succinct|download|filter|fields|field|expand|include|search|term|"
    r"year|month|day|date|width|height|depth|level|version|color|colour|currency|country|region|unit|database|"
    r"cache|synchronous|columns|device|tenant"
)

# Boundaries between the words of a name: `X-Api-Key`, `apiKey`, `user[password]`.
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = re.compile(r"[^a-z0-9]+")


def is_secret_name(name: str) -> bool:
    """Return True if a key, header or parameter with this name contains a secret.

    Examples
    --------
    >>> [is_secret_name(name) for name in ("X-Api-Key", "user[password]", "apiKey", "Authorization", "dbpass")]
    [True, True, True, True, True]
    >>> [is_secret_name(name) for name in ("password_from", "password_encryption", "max_tokens_seen", "key", "author")]
    [False, False, False, False, False]
    """
    return _SECRET.search(_words(name)) is not None


def may_be_secret_name(name: str) -> bool:
    """Return True if a key, header or parameter with this name may contain a secret, so that its value is hidden.

    Examples
    --------
    >>> [may_be_secret_name(name) for name in ("password", "code", "device_key", "sid")]
    [True, True, True, True]
    >>> [may_be_secret_name(name) for name in ("services.web.key", "sort_key", "statusCode", "pinning")]
    [False, False, False, False]
    """
    words = _words(name)
    return _SECRET.search(words) is not None or (
        _DOUBTFUL.search(words) is not None and _HARMLESS_TAILS.search(words) is None
    )


def is_harmless_name(name: str) -> bool:
    """Return True if a URL parameter with this name may be shown, provided that its value is a short number or word.

    Examples
    --------
    >>> [is_harmless_name(name) for name in ("page", "maxItems", "user_id", "sort_by", "pass", "session_id", "ref")]
    [True, True, True, True, False, False, False]
    """
    words = _words(name).split("_")
    return (
        _HARMLESS.fullmatch(words[-1]) is not None
        and not may_be_secret_name(name)
        and not any(map(is_secret_name, words))
    )


def _words(name: str) -> str:
    """Split the last part of a path, such as `parameters.password`, into words. Return the words in lower case, joined
    by `_`.
    """
    last = name.rstrip(".").rpartition(".")[2]
    return _SEPARATORS.sub("_", _CAMEL.sub("_", last).lower()).strip("_")
