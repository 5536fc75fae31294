"""The artifact of numbered words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import publish, verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.systems.hatten import texts
from cocite.systems.hatten.texts import KIND, HattenTextSettings, load, prepare
from cocite.text.paragraph_reader import ParagraphReader, ParagraphSettings
from cocite.text.paragraphs import Paragraphs
from cocite.training.gaps import Gaps
from cocite.training.periods import Periods, PeriodSettings

SETTINGS = HattenTextSettings(
    period=PeriodSettings(train_until=2012),
    dev_contexts=30,
    paragraphs=ParagraphSettings(vocabulary_size=500, max_abstract=30),
)


def test_the_arrays_are_those_of_the_texts_read_at_once(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "BLOCK", 7)
    monkeypatch.setattr("cocite.training.gaps.BLOCK", 50)
    done: dict[str, int] = {}
    stages: dict[str, int] = {}

    def advance(count: int) -> None:
        done[list(stages)[-1]] = done.get(list(stages)[-1], 0) + count

    assert prepare(
        SETTINGS,
        corpus,
        tmp_path / KIND,
        stage=lambda name, total: stages.update({name: total}),
        advance=advance,
    )
    assert done == stages
    found = load(tmp_path, corpus, SETTINGS)
    periods = Periods.of(corpus, SETTINGS.period, all_dev=True)
    reader = ParagraphReader.build(periods.history, SETTINGS.paragraphs, bodies=False)
    gaps, dev = Gaps.known(periods.history), Gaps.sample(corpus, periods.dev, 30)
    positions = np.concatenate([gaps.positions, dev.positions])
    whole = Paragraphs.joined([*reader.papers(corpus), reader.contexts(corpus, positions)])
    assert found.reader.vocabulary.types == reader.vocabulary.types
    assert np.array_equal(found.paragraphs.indptr, whole.indptr)
    assert np.array_equal(found.paragraphs.tokens, whole.tokens)
    for ours, theirs in ((found.gaps, gaps), (found.dev, dev)):
        assert np.array_equal(ours.positions, theirs.positions)
        assert np.array_equal(ours.citing, theirs.citing)
        assert np.array_equal(ours.cited.indptr, theirs.cited.indptr)
        assert np.array_equal(ours.cited.indices, theirs.cited.indices)
    lengths = whole.lengths[: len(corpus)] + whole.lengths[len(corpus) : 2 * len(corpus)]
    assert found.words.tolist() == [
        whole.lengths[2 * len(corpus) + i] + lengths[gaps.cited[i]].sum() for i in range(len(gaps))
    ]
    assert found.citations.tolist() == np.bincount(gaps.cited.indices, minlength=len(corpus)).tolist()
    assert isinstance(found.paragraphs.tokens, np.memmap)


def test_texts_are_made_once_for_the_same_settings(corpus: Corpus, tmp_path: Path) -> None:
    assert prepare(SETTINGS, corpus, tmp_path / KIND)
    digest = verify(tmp_path / KIND, kind=KIND).digest
    assert not prepare(SETTINGS, corpus, tmp_path / KIND)
    others = SETTINGS.model_copy(update={"dev_contexts": 20})
    with pytest.raises(InputError, match="the texts were made with other settings"):
        load(tmp_path, corpus, others)
    assert prepare(others, corpus, tmp_path / KIND)
    assert verify(tmp_path / KIND).digest != digest


def test_texts_of_another_corpus_and_missing_ones_are_refused(
    corpus: Corpus, synthetic: SyntheticCorpora, tmp_path: Path
) -> None:
    with pytest.raises(NotFoundError, match="holds no texts to train on"):
        load(tmp_path, corpus, SETTINGS)
    prepare(SETTINGS, corpus, tmp_path / KIND)
    with pytest.raises(InputError, match="the texts are of another corpus"):
        load(tmp_path, synthetic(300, seed=5), SETTINGS)


def test_arrays_that_do_not_fit_each_other_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    prepare(SETTINGS, corpus, tmp_path / "whole" / KIND)
    meta = {"corpus": corpus.version, "settings": SETTINGS.model_dump(mode="json")}
    for name, match in (
        ("tokens", "the arrays do not fit"),
        ("known.citing", "the arrays of known do not fit"),
    ):
        with publish(tmp_path / name / KIND, kind=KIND, meta=meta) as folder:
            for path in (tmp_path / "whole" / KIND).iterdir():
                if path.name != "manifest.json":
                    (folder / path.name).write_bytes(path.read_bytes())
            np.save(folder / f"{name}.npy", np.zeros(3, np.int32))
        with pytest.raises(IntegrityError, match=match):
            load(tmp_path / name, corpus, SETTINGS)
