"""``python -m manyarms_command``."""

import sys

from . import main

sys.exit(main())
