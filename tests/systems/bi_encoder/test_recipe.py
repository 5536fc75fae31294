from __future__ import annotations

from pathlib import Path

import pytest

from cocite.errors import ConfigError
from cocite.systems.bi_encoder.recipe import BiEncoderRecipe


def test_the_tokens_depend_on_the_tokenizer_and_not_on_its_place(encoder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in encoder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    first, second = (BiEncoderRecipe(encoder=str(folder)).tokens for folder in (encoder, copy))
    assert first.tokenizer == second.tokenizer
    assert first.encoder != second.encoder


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"texts\.task"):
        BiEncoderRecipe.parse({"texts": {"task": "everything"}})
