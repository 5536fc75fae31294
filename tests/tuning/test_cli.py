"""``cocite tune`` from a sweep file to its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.toy_study import TOY

from cocite.corpus.store import Corpus

SWEEP = TOY | {
    "space": {"x": {"uniform": [-3, 3]}, "size": {"uniformint": [1, 9]}},
    "budget": {"trials": 12},
}


def test_the_command_line(
    small: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.yaml").write_text(json.dumps(SWEEP))
    command = ["tune", "toy.yaml", "budget.trials=5", "--corpus", str(small.path), "--no-track"]
    code, out, err = call(capsys, *command, "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert answer["trials"] == {"finished": 5, "stopped": 0, "failed": 0}
    assert answer["folder"] == "sweeps/toy"
    assert answer["best"]["metrics"]["height"] <= 0
    code, _, err = call(capsys, *command)
    assert (code, "sweeps/toy: holds a sweep (pass --resume" in err) == (2, True)
    code, out, err = call(capsys, *command, "budget.trials=6", "--resume", "--max-latency-ms", "4")
    assert code == 0, err
    assert "trial 5: height" in err
    assert "of 6 (6 finished, 0 stopped, 0 failed)" in out
    code, out, _ = call(capsys, "tune", "report", "sweeps/toy")
    assert code == 0
    code, out, _ = call(capsys, "tune", "toy.yaml", "--check", "--json")
    assert json.loads(out)["parameters"] == ["x", "size"]
    code, _, err = call(capsys, "tune", "toy.yaml", "--to", "s3://bucket/sweep")
    assert (code, "is no folder" in err) == (2, True)
    code, out, _ = call(capsys, "tune", "list", "--json")
    assert json.loads(out)["nnselect"]["study"]["recipe"] == "nnselect"
