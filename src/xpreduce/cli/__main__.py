"""``python -m xpreduce.cli`` is the command ``xpreduce``."""

from __future__ import annotations

import sys

from xpreduce.cli import main

sys.exit(main())
