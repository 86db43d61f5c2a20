"""Lets the tests of the structure share what reads it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
