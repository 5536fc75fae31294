"""The GPU benchmarks, tiny and on the CPU: that they run, and that what they check holds."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("benchmarks.gpu.bench", reason="run from a checkout")

from benchmarks.gpu import cross_encoder, training
from benchmarks.gpu.bench import real_lengths


def test_scoring_agrees_with_fp32_and_is_kept_with_device_and_date(tmp_path, capsys):
    path = tmp_path / "result.json"
    rows = cross_encoder.main(["--small", "--device", "cpu", "--repeats", "1", "--json", str(path)])
    forms = {(row["lengths"], row["form"]): row for row in rows}
    assert len(forms) == 6
    for (_, form), row in forms.items():
        assert row["largest error / spread"] < (1e-4 if form == "packed fp32" else 0.1)
        assert row["pairs/s"] > 0
    kept = json.loads(path.read_text())
    assert {"date", "device", "torch", "rows"} <= kept.keys()
    assert "packed bf16" in capsys.readouterr().out


def test_training_in_bf16_follows_fp32(capsys):
    rows = {row["training"]: row for row in training.main(["--small", "--device", "cpu"])}
    assert rows["fp32"]["largest loss difference"] == 0
    assert 0 < rows["bf16"]["largest loss difference"] < 0.05
    assert rows["bf16"]["MFU"] > 0
    assert "MFU" in capsys.readouterr().out


def test_lengths_differ_and_fit():
    lengths = real_lengths(500, 512, np.random.default_rng(0))
    assert 16 <= lengths.min() < 300
    assert lengths.max() == 512
    assert 370 < np.median(lengths) < 420
