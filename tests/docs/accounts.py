"""Judgements on the fenced code blocks of the documentation, by page and in the order of the blocks. A judgement
defines how a block is tested.

`test_docs_accounts.py` fails for a block without a judgement, with its page and line, and for a judgement without a
block.
"""

from __future__ import annotations

from accounts_examples import EXAMPLES
from accounts_guides import GUIDES
from accounts_reference import REFERENCE
from judgements import Judgement

ACCOUNTS: dict[str, tuple[Judgement, ...]] = {**EXAMPLES, **GUIDES, **REFERENCE}
