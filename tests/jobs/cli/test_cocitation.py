from __future__ import annotations

from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--train"], "cocite: --train: names no folder to train into (give --model FOLDER)"),
        (["--split", "tests"], "no split is called 'tests'"),
        (["--to", "FILE"], "is a file, not a folder to write into"),
        (["--markdown", "."], "is a folder, not a file to write to"),
        (["--setting", "w2v.windw=5"], "unknown key 'w2v.windw' (did you mean 'window'"),
        (["--sample", "0"], "Invalid value for '--sample'"),
    ],
)
def test_mistakes_are_reported_before_anything_is_measured(
    synthetic: SyntheticCorpora,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").touch()
    corpus = synthetic(300, seed=5, split=(3, 1))
    line = (
        "evaluate",
        "cocitation",
        "--corpus",
        corpus.path,
        "--no-track",
        "--baselines",
        "none",
        *arguments,
    )
    code, out, err = call(capsys, *line)
    assert (code, out) == (2, "")
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["FILE"]
