"""`python -m oshaberi` is the `oshaberi` command."""

import sys

from oshaberi.cli import main

sys.exit(main())
