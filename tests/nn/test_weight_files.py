"""Settings and weights as files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from cocite.config import Settings
from cocite.errors import IntegrityError, NotFoundError
from cocite.manifests import read_json
from cocite.nn.weight_files import load_weights, weights_of, write_settings


class Shape(Settings):
    """Some settings."""

    width: int = 3
    name: str = "é"


class TwoNames(nn.Module):
    """A module of two layers with the same weight."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.second.weight = self.first.weight


def test_settings_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_settings(tmp_path / "shape.json", Shape(width=5))
    assert Shape.parse(read_json(tmp_path / "shape.json")) == Shape(width=5)


def test_a_weight_of_two_names_is_saved_once_and_both_get_it_back(tmp_path: Path) -> None:
    torch.manual_seed(0)
    one, other = TwoNames(), TwoNames()
    save_file(weights_of(one), tmp_path / "w.safetensors")
    assert set(load_file(tmp_path / "w.safetensors")) == {"first.weight", "first.bias"}
    load_weights(other, tmp_path / "w.safetensors")
    assert torch.equal(other.second.weight, one.first.weight)
    assert torch.equal(other.first.bias, one.first.bias)


def test_weights_of_another_module_are_refused(tmp_path: Path) -> None:
    path, weights = tmp_path / "w.safetensors", weights_of(TwoNames())
    with pytest.raises(NotFoundError, match=r"w\.safetensors: no such file"):
        load_weights(TwoNames(), path)
    save_file({name: weight for name, weight in weights.items() if name != "first.bias"}, path)
    with pytest.raises(IntegrityError, match=r"does not fit config: 'first\.bias' is not in both"):
        load_weights(TwoNames(), path)
    save_file({**weights, "third": torch.zeros(1)}, path)
    with pytest.raises(IntegrityError, match=r"does not fit config: 'third' is not in both"):
        load_weights(TwoNames(), path)
    save_file(weights, path)
    with pytest.raises(IntegrityError, match="does not fit config and vocabulary"):
        load_weights(TwoNames(4), path)
    path.write_bytes(b"nothing")
    with pytest.raises(IntegrityError, match="does not fit config and vocabulary"):
        load_weights(TwoNames(), path)
