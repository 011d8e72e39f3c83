"""Judgements of all fenced blocks, by page, in the order of the page.

A block without a judgement fails `test_docs_accounts.py`, with its page and line; so does a judgement without a block.
"""

from __future__ import annotations

from accounts_examples import EXAMPLES
from accounts_guides import GUIDES
from accounts_reference import REFERENCE
from judgements import Judgement

ACCOUNTS: dict[str, tuple[Judgement, ...]] = {**EXAMPLES, **GUIDES, **REFERENCE}
