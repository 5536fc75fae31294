"""Inputs of a training that lie in the model folder: found, and of the corpus that is trained on."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import publish, verify
from cocite.errors import InputError, NotFoundError
from cocite.training.input_artifacts import check_same_corpus, find_input


def test_an_input_is_found_by_its_kind(tmp_path: Path) -> None:
    with pytest.raises(
        NotFoundError, match=r"holds no candidates to train on \(train with `cocite train`, which"
    ):
        find_input(tmp_path, "candidates", lacking="candidates to train on")
    (tmp_path / "candidates").mkdir()
    assert find_input(tmp_path, "candidates", lacking="candidates to train on") == tmp_path / "candidates"


def test_an_input_of_another_corpus_is_refused(synthetic: SyntheticCorpora, tmp_path: Path) -> None:
    corpus, other = synthetic(60, seed=1), synthetic(60, seed=2)
    folder = tmp_path / "texts"
    with publish(folder, kind="texts", meta={"corpus": corpus.version}) as temporary:
        (temporary / "a.txt").write_text("words")
    manifest = verify(folder, kind="texts")
    check_same_corpus(manifest, corpus, folder, what="texts")
    with pytest.raises(InputError, match=r"texts: the texts are of another corpus \(remove them, to be made"):
        check_same_corpus(manifest, other, folder, what="texts")
