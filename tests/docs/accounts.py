"""Judgements (how a block of code is tested) of all fenced blocks of the documentation, for each page in the order of
its blocks.

`test_docs_accounts.py` fails for a block without a judgement, with its page and line, and for a judgement without a
block.
"""

from __future__ import annotations

from accounts_examples import EXAMPLES
from accounts_guides import GUIDES
from accounts_reference import REFERENCE
from judgements import Judgement

ACCOUNTS: dict[str, tuple[Judgement, ...]] = {**EXAMPLES, **GUIDES, **REFERENCE}
