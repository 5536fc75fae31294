"""The GPU benchmarks, tiny and on the CPU: that they run, and that what they check holds."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("benchmarks.gpu.bench", reason="run from a checkout")

from benchmarks.gpu import attention, cross_encoder, training
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
    assert 0 < rows["bf16, attention dropout"]["largest loss difference"] < 0.5
    assert "MFU" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_attention_with_and_without_padding_is_one_function():
    rows = {
        (row["form"], row["dropout"]): row
        for row in attention.main(["--small", "--device", "cpu", "--repeats", "1"])
    }
    assert rows.keys() == {(form, rate) for form in ("padded", "jagged") for rate in (0.0, attention.RATE)}
    for (_, rate), row in rows.items():
        assert row["error of the mean / spread"] < (0.06 if rate else 0.01)
        assert row["TFLOP/s"] > 0


def test_lengths_differ_and_fit():
    lengths = real_lengths(500, 512, np.random.default_rng(0))
    assert 16 <= lengths.min() < 300
    assert lengths.max() == 512
    assert 370 < np.median(lengths) < 420
