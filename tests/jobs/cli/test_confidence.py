"""``cocite evaluate confidence``: what it offers; tests/jobs/training/test_confidence.py runs it after a training."""

from __future__ import annotations

import pytest
from helpers.command_line import call


def test_its_help_names_the_diagram(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "evaluate", "confidence", "--help")
    assert code == 0
    assert "--diagram" in out
