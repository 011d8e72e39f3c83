"""Runs the command `towtank` for `python -m towtank`."""

import sys

from towtank.cli import main

sys.exit(main())
