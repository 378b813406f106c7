"""``python -m manyarms.cli``."""

import sys

from . import main

sys.exit(main())
