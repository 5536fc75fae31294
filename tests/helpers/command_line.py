"""The command line, called in this process as a user would type it."""

from __future__ import annotations

import pytest

from cocite.cli import main


def call(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one command line."""
    try:
        main([str(arg) for arg in args])
        code = 0
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    out, err = capsys.readouterr()
    return code, out, err
