"""The benchmark of the hierarchical transformer, tiny: that it runs, and that what it compares is equal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("benchmarks.mp_bert4cr_training", reason="run from a checkout")

from benchmarks import mp_bert4cr_training
from cocite.corpus.builder import build
from cocite.corpus.synth import Synthetic


def test_packed_and_padded_agree_and_are_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = build(Synthetic(40, seed=2, sentences=True), tmp_path / "corpus")
    small = ["--documents", "20", "--hidden", "32", "--layers", "1", "--repeats", "1", "--threads", "1"]
    for source in ([], ["--corpus", str(corpus.path)]):
        rows = mp_bert4cr_training.main([*small, *source, "--json", str(tmp_path / "result.json")])
        forms = {(row["precision"], row["form"]): row for row in rows}
        assert len(forms) == 4
        assert forms["fp32", "packed"]["apart"] < 1e-3
        assert forms["bf16", "padded"]["padding"] > 0.1
        assert all(row["tokens/s"] > 0 for row in rows)
        assert json.loads((tmp_path / "result.json").read_text())["rows"] == rows
    assert "packed" in capsys.readouterr().out
