from __future__ import annotations

from pathlib import Path

import pytest
from helpers.citing_papers import citing_corpus
from helpers.records import make, tiny

from cocite.errors import InputError
from cocite.systems.citing_sentences.citations import HOLE
from cocite.systems.citing_sentences.examples import read_examples


def test_examples_are_of_the_papers_of_one_split(tmp_path: Path) -> None:
    corpus = citing_corpus(tmp_path / "corpus")
    seen: list[int] = []
    for split in ("train", "dev", "test"):
        examples = read_examples(corpus, split, 100, seed=0, advance=seen.append)
        assert (len(examples.papers), len(examples), examples.cites.mean()) == (12, 72, 0.5)
        texts = {one.text for paper in examples.papers for one in paper}
        assert not any("CIT" in text or "Lee" in text for text in texts)
        assert any(HOLE in text for text in texts)
    assert sum(seen) == 36


def test_sentences_that_lack_a_word_are_not_complete(tmp_path: Path) -> None:
    examples = read_examples(citing_corpus(tmp_path / "corpus", incomplete=True), "train", 100, seed=0)
    assert examples.cites.mean() == 0.5
    assert (~examples.complete).sum() == 12
    assert examples.cites[~examples.complete].all()


def test_a_sample_is_drawn_with_a_seed(tmp_path: Path) -> None:
    corpus = citing_corpus(tmp_path / "corpus")
    drawn = [read_examples(corpus, "train", 4, seed=seed).papers for seed in (0, 0, 1)]
    assert len(drawn[0]) == 4
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_corpus_without_such_sentences_is_refused(tmp_path: Path) -> None:
    corpus = make(tmp_path / "corpus", tiny(), split=lambda _: "train")
    with pytest.raises(InputError, match="the train split has no body sentences of which some cite"):
        read_examples(corpus, "train", 10, seed=0)
    with pytest.raises(InputError, match="no paper belongs to the dev split"):
        read_examples(corpus, "dev", 10, seed=0)
