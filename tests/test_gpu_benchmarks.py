"""The GPU benchmarks, tiny and on the CPU: that they run, and that what they check holds."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("benchmarks.gpu.bench", reason="run from a checkout")

from helpers.sources import ROOT

from benchmarks.gpu import __main__ as command
from benchmarks.gpu import attention, bench, cross_encoder, recipes, training
from benchmarks.gpu.bench import real_lengths
from cocite.nn.variables import PRECISION


@pytest.fixture
def bf16_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU without instructions for bf16 a training would compute in fp32."""
    monkeypatch.setenv(PRECISION, "bfloat16")


@pytest.fixture
def commands_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command starts its parts in the current folder, with the library that the tests have imported."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "platform"))


def test_scoring_agrees_with_fp32_and_is_kept_with_device_and_date(tmp_path, capsys):
    path = tmp_path / "result.json"
    rows = cross_encoder.main(["--small", "--device", "cpu", "--repeats", "1", "--json", str(path)])
    forms = {(row["lengths"], row["form"]): row for row in rows}
    assert len(forms) == 6
    for (_, form), row in forms.items():
        assert row["largest error / spread"] < (1e-4 if form == "packed fp32" else 0.1)
        assert row["pairs/s"] > 0
    kept = json.loads(path.read_text())
    assert {"date", "device", "versions", "rows"} <= kept.keys()
    assert "packed bf16" in capsys.readouterr().out


def followed_fp32(rows: list[dict[str, Any]], but: set[str]) -> None:
    """Each row, but for those named, has speed, share of the peak and memory, and the losses of fp32 as rounded."""
    for row in rows:
        name = row["training"]
        if name not in but:
            assert row["tokens/s"] > 0
            assert row["MFU"] > 0
            assert row["peak MB"] > 1
            assert (row["largest loss difference"] == 0) == (name == "fp32"), name
            assert row["largest loss difference"] < (0.5 if "dropout" in name else 0.05), name


@pytest.mark.usefixtures("bf16_anywhere")
def test_training_without_deepspeed_and_a_compiler_says_what_was_not_run(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "deepspeed", None)
    monkeypatch.setenv("CXX", "no-such-compiler")
    rows = training.main(["--device", "cpu"])
    lacking = {row["training"]: row["note"] for row in rows if "note" in row}
    assert lacking == {
        "bf16, compiled": "not run: there is no compiler no-such-compiler",
        "bf16, compiled, attention dropout": "not run: there is no compiler no-such-compiler",
        "bf16, ZeRO 2": "not run: deepspeed is not installed",
        "bf16, ZeRO 3": "not run: deepspeed is not installed",
    }
    followed_fp32(rows, but=set(lacking))
    assert bench.exit_code(rows) == 0
    assert "no-such-compiler" in capsys.readouterr().out


def test_a_row_that_fails_is_named_and_the_next_ones_are_measured(monkeypatch, capsys):
    trainings = {"fp32": ({"precision": "fp16"}, 0.0), "bf16": (training.BF16, 0.0)}
    monkeypatch.setattr(training, "TRAININGS", trainings)
    rows = training.main(["--device", "cpu"])
    assert rows[0]["note"].startswith("failed: ConfigError: ")
    assert rows[1]["tokens/s"] > 0
    assert "largest loss difference" not in rows[1]
    assert bench.exit_code(rows) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.thorough
@pytest.mark.usefixtures("commands_here", "bf16_anywhere")
def test_the_command_runs_all_parts_tiny_on_a_cpu(tmp_path, capfd):
    path = tmp_path / "gpu.json"
    assert command.main(["--device", "cpu", "--repeats", "1", "--json", str(path)]) == 0
    kept = json.loads(path.read_text())
    assert list(kept["parts"]) == ["attention", "cross_encoder", "training"]
    assert {"Python", "torch", "transformers", "deepspeed"} <= kept["versions"].keys()
    rows = kept["parts"]["training"]["rows"]
    assert [row["training"] for row in rows] == list(training.TRAININGS)
    followed_fp32(
        rows, but=set() if shutil.which("g++") else {"bf16, compiled", "bf16, compiled, attention dropout"}
    )
    printed = capfd.readouterr().out
    assert printed.count(f"{kept['device']}, {kept['date']}, Python") == 3
    assert printed.endswith("all parts ran\n")


@pytest.mark.usefixtures("commands_here")
def test_the_command_goes_on_after_a_part_that_fails(tmp_path, monkeypatch, capfd):
    path = tmp_path / "gpu.json"
    monkeypatch.setattr(command, "PARTS", ("missing", "attention"))
    assert command.main(["--device", "cpu", "--repeats", "1", "--json", str(path)]) == 1
    parts = json.loads(path.read_text())["parts"]
    assert parts["missing"] == {"exit code": 1}
    assert parts["attention"]["rows"]
    assert capfd.readouterr().out.endswith("failed: missing (exit code 1)\n")


def test_the_command_refuses_a_part_that_there_is_not(capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(["--parts", "attention,trainings"])
    assert "no 'trainings' (choose from attention, cross_encoder, training)" in capsys.readouterr().err


def test_the_command_names_the_packages_that_it_misses(monkeypatch, capsys):
    monkeypatch.setattr(command, "NEEDED", ("torch", "no_such_package"))
    assert command.main([]) == 2
    assert "there is no no_such_package (install" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_attention_with_and_without_padding_is_one_function():
    rows = {
        (row["form"], row["dropout"]): row
        for row in attention.main(["--small", "--device", "cpu", "--repeats", "1"])
    }
    for rate in (0.0, attention.RATE):
        assert rows.pop(("varlen", rate))["note"] == "not run: it needs a GPU and torch 2.10"
    assert rows.keys() == {(form, rate) for form in ("padded", "jagged") for rate in (0.0, attention.RATE)}
    for (_, rate), row in rows.items():
        assert row["error of the mean / spread"] < (0.06 if rate else 0.01)
        assert row["TFLOP/s"] > 0


def test_lengths_differ_and_fit():
    lengths = real_lengths(500, 512, np.random.default_rng(0))
    assert 16 <= lengths.min() < 300
    assert lengths.max() == 512
    assert 370 < np.median(lengths) < 420


def test_recipes_train_one_after_the_other_in_one_model_folder(tmp_path, capsys):
    small = "training.log_every=1 training.batch=16 training.steps=5"
    pretraining = (
        f"masked-lm texts.vocabulary=500 model.hidden=8 model.heads=2 training.precision=fp32 {small}"
    )
    fine_tuning = f"bi-encoder encoder={tmp_path}/model/masked-lm {small}"
    texts = [pretraining, fine_tuning, "mp-bert4cr texts.vocabulary=500 training.backend=plain"]
    given = [part for text in texts for part in ("--recipe", text)]
    path = tmp_path / "result.json"
    rows = recipes.main(
        ["--to", str(tmp_path / "model"), "--device", "cpu", "--minutes", "0.2", "--json", str(path), *given]
    )
    for row, metric in zip(rows, ("accuracy", "MRR"), strict=False):
        assert row["steps"] >= 1
        assert row["tokens_per_second"] > 0
        assert 0 < row["mfu"] < 1
        assert all(0 <= row[f"{metric} {when}"] <= 1 for when in ("before", "after"))
        assert row["hours of all epochs"] > 0
    assert rows[2]["note"].startswith(
        "failed: NotFoundError: "
    )  # it begins with a pretraining that is not there
    assert bench.exit_code(rows) == 1
    assert json.loads(path.read_text())["rows"] == rows
    assert "Traceback" in capsys.readouterr().err
