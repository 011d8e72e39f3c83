"""`python -m towtank` is the command `towtank`."""

import sys

from towtank.cli import main

sys.exit(main())
