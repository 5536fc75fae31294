"""Tensors under other names: the same tensors, and the same bytes after the way back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from cocite.errors import IntegrityError
from cocite.pipeline.huggingface.tensor_names import LONGEST_HEADER, rename_tensors

NAMES = st.lists(st.text('abcäü."\\ ', min_size=1, max_size=9), min_size=1, max_size=6, unique=True)


@settings(max_examples=50, deadline=None)
@given(names=NAMES, metadata=st.booleans())
def test_the_way_back_gives_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], metadata: bool
) -> None:
    folder = tmp_path_factory.mktemp("names")
    tensors = {
        name: torch.randn(i + 1, 3, dtype=[torch.float32, torch.float16][i % 2])
        for i, name in enumerate(names)
    }
    save_file(tensors, folder / "one", {"format": "pt"} if metadata else None)
    rename_tensors(folder / "one", folder / "two", lambda name: f"trunk.{name}")
    renamed = load_file(folder / "two")
    assert set(renamed) == {f"trunk.{name}" for name in names}
    assert all(torch.equal(renamed[f"trunk.{name}"], value) for name, value in tensors.items())
    rename_tensors(folder / "two", folder / "three", lambda name: name.removeprefix("trunk."))
    assert (folder / "three").read_bytes() == (folder / "one").read_bytes()


def test_two_tensors_of_one_name(tmp_path: Path) -> None:
    save_file({"a": torch.ones(1), "b": torch.ones(1)}, tmp_path / "one")
    with pytest.raises(IntegrityError, match="one: two of its tensors would have one name"):
        rename_tensors(tmp_path / "one", tmp_path / "two", lambda _: "c")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        (LONGEST_HEADER + 1).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{[",
        (2).to_bytes(8, "little") + b"\xff\xfe",
        (2).to_bytes(8, "little") + json.dumps([]).encode(),
        (100_000).to_bytes(8, "little") + b"[" * 100_000,
    ],
)
def test_what_is_no_safetensors_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "one").write_bytes(content)
    with pytest.raises(IntegrityError, match="one: is no safetensors file"):
        rename_tensors(tmp_path / "one", tmp_path / "two", str)
