"""``python -m cocite`` is ``cocite``."""

from cocite.cli import main

main()
