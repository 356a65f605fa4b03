"""`python -m evalrunner` is the command `evalrunner`."""

import sys

from evalrunner.cli import main

sys.exit(main())
