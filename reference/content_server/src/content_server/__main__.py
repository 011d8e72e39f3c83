"""Runs the command line for `python -m content_server`."""

from __future__ import annotations

import sys

from content_server.cli import main

if __name__ == "__main__":
    sys.exit(main())
