from __future__ import annotations

import pytest
from helpers.command_line import call


def test_a_submitted_command_has_its_own_options_and_those_of_a_submission(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = call(capsys, "job", "submit", "index", "--help")
    assert code == 0
    for option in ("--shards", "--bm25", "--driver-cpus", "--env NAME=VALUE", "--wait", "--detach"):
        assert option in out
    assert "--no-verify" not in out
    code, out, _ = call(capsys, "job", "submit", "evaluate", "--help")
    assert code == 0
    assert "pipeline" in out


def test_what_is_no_command_is_a_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "job", "submit", "nnselct", "--corpus", "/c", "--to", "/m")
    assert code == 2
    assert "no recipe 'nnselct'" in err
