from __future__ import annotations

from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "0,b"], "cocite: --seeds: reads '0,b', and not numbers with commas between"),
        (["--rows", "hierarhcy"], "there is no control called 'hierarhcy'"),
        (["--split", "tests"], "no split is called 'tests'"),
        (["model.widht=3"], "widht"),
        (["--markdown", "."], "is a folder, not a file to write to"),
    ],
)
def test_mistakes_are_reported_before_anything_is_trained(
    synthetic: SyntheticCorpora,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = synthetic(300, seed=5, split=(3, 1))
    line = ("evaluate", "controls", "--corpus", corpus.path, "--model", "model", "--no-track", *arguments)
    code, out, err = call(capsys, *line)
    assert (code, out) == (2, "")
    assert message in err
    assert not list(tmp_path.iterdir())
