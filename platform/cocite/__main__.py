"""``python -m cocite`` is ``cocite``."""

from cocite.cli import main

if __name__ == "__main__":
    main()
