"""A trunk's vectors of sentences: exactly those that may be drawn, each the trunk's, computed once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.small_mp_bert4cr import mp_bert4cr_recipe, prepared_task
from helpers.small_trunk import save_small_trunk

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr import sentence_vectors
from cocite.systems.mp_bert4cr.encoder import load_mp_bert4cr_encoder
from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
from cocite.systems.mp_bert4cr.sentence_texts import load_from_model_folder
from cocite.systems.mp_bert4cr.sentence_texts import prepare as prepare_texts
from cocite.systems.mp_bert4cr.trunk import load_trunk
from cocite.text.queries import context_queries
from cocite.training.engine.loop import train
from cocite.training.engine.world import World
from cocite.training.gaps import Gaps
from cocite.training.periods import Periods

TEXTS = {"trunk": {"encoder": "masked-lm"}, "sentence_tokens": 24, "period": {"train_until": 2015}}


def recipe(**sections: Any) -> MpBert4crRecipe:
    base: dict[str, Any] = {"texts": {**TEXTS, "body": 8, "stretch": 4}, "contexts": {"body": 0}}
    base |= {"model": {"sentence_layers": 0}}
    for name, values in sections.items():
        base[name] = {**base.get(name, {}), **values} if isinstance(values, dict) else values
    return mp_bert4cr_recipe(**base)


def prepare(chosen: MpBert4crRecipe, corpus: Corpus, folder: Path) -> None:
    prepare_texts(chosen.texts, corpus, folder / "sentence-texts")
    assert chosen.sentence_vectors is not None
    sentence_vectors.prepare(chosen.sentence_vectors, corpus, folder / "sentence-vectors")


@pytest.fixture(scope="module")
def trunk_folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hierarchy")
    titles = [title or "" for title in corpus.papers.take("title", np.arange(len(corpus)))]
    save_small_trunk(folder / "masked-lm", titles)
    prepare(recipe(), corpus, folder)
    return folder


@pytest.mark.parametrize("contexts", [{"body": 0}, {"body": 2}, {"body": 0, "earlier": 0, "around": 2}])
def test_every_sentence_that_is_drawn_has_the_trunks_vector(
    corpus: Corpus, trunk_folder: Path, tmp_path: Path, contexts: dict[str, int]
) -> None:
    chosen = recipe(contexts=contexts)
    for name in ("masked-lm", "sentence-texts"):
        (tmp_path / name).symlink_to(trunk_folder / name)
    prepare(chosen, corpus, tmp_path)
    task = prepared_task(chosen, corpus, tmp_path)
    trunk = load_trunk(tmp_path / "masked-lm", dtype=torch.float32)
    lengths = task.lengths(0)
    for epoch in range(3):
        batch = task.collate(np.arange(len(lengths)), epoch)
        for documents in (batch.manuscripts, batch.papers):
            assert documents.vectors is not None
            assert len(documents.vectors) == len(documents.lengths)
            found = documents.vectors.float()
            expected = trunk.read(documents).vectors
            # A document without a sentence is one end token, whose vector is 0.
            filled = found.any(1)
            assert bool(filled.float().mean() > 0.9)
            torch.testing.assert_close(found[filled], expected[filled], atol=0.01, rtol=0)
    rows = np.arange(len(corpus))
    assert task.dev_documents.papers(rows, Draws(0, 0, rows)).vectors is not None
    task.dev_documents.contexts(task.dev.positions, Draws(0, 0, task.dev.positions))


def test_what_no_example_reads_has_no_vector(corpus: Corpus, trunk_folder: Path) -> None:
    chosen = recipe()
    assert chosen.sentence_vectors is not None
    texts = load_from_model_folder(trunk_folder, corpus)
    wanted = sentence_vectors.drawable(chosen.sentence_vectors, corpus, texts)
    periods = Periods.of(corpus, chosen.texts.period, all_dev=True)
    gaps = Gaps.joined([Gaps.known(periods.history), Gaps.sample(corpus, periods.dev, chosen.dev_contexts)])
    bodies = wanted[len(texts.abstracts) : len(texts.abstracts) + len(texts.bodies)]
    for paper in range(len(corpus)):
        own = gaps.positions[gaps.citing == paper]
        read = bodies[texts.body_indptr[paper] : texts.body_indptr[paper + 1]]
        positions = texts.body_positions[texts.body_indptr[paper] : texts.body_indptr[paper + 1]]
        known = texts.context_positions[own]
        last = known.max(initial=-1)
        if last < 0:
            assert not read.any()
            continue
        assert read[positions <= last].all()
        # Beyond the last citation its neighbour alone may be read.
        assert read[positions > last].sum() <= 1 + (positions[positions <= last] < last).all()
    loaded = sentence_vectors.load(trunk_folder, corpus, chosen.sentence_vectors, texts)
    assert np.array_equal(loaded.rows >= 0, wanted)
    assert 0 < wanted.mean() < 1


def test_an_interrupted_making_goes_on(
    corpus: Corpus, trunk_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = recipe().sentence_vectors
    assert chosen is not None
    for name in ("masked-lm", "sentence-texts"):
        (tmp_path / name).symlink_to(trunk_folder / name)
    monkeypatch.setattr(sentence_vectors, "BLOCK", 50)
    computed: list[int] = []

    def stop(count: int) -> None:
        computed.append(count)
        if len(computed) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        sentence_vectors.prepare(chosen, corpus, tmp_path / "sentence-vectors", advance=stop)
    assert not (tmp_path / "sentence-vectors").exists()
    again: list[int] = []
    assert sentence_vectors.prepare(chosen, corpus, tmp_path / "sentence-vectors", advance=again.append)
    assert again[0] == 150  # taken up, not computed again
    assert not list(tmp_path.glob(".sentence-vectors.*"))
    one, other = (np.load(folder / "sentence-vectors/vectors.npy") for folder in (tmp_path, trunk_folder))
    np.testing.assert_allclose(one, other, atol=2e-3)
    assert not sentence_vectors.prepare(chosen, corpus, tmp_path / "sentence-vectors")


def test_another_trunk_of_the_same_name_makes_them_anew(corpus: Corpus, tmp_path: Path) -> None:
    texts = ["graph parsing of sentences"] * 3
    save_small_trunk(tmp_path / "masked-lm", texts)
    chosen = recipe()
    prepare(chosen, corpus, tmp_path)
    save_small_trunk(tmp_path / "masked-lm", texts, seed=1)
    with pytest.raises(InputError, match="were made by another trunk"):
        prepared_task(chosen, corpus, tmp_path)
    assert chosen.sentence_vectors is not None
    assert sentence_vectors.prepare(chosen.sentence_vectors, corpus, tmp_path / "sentence-vectors")
    prepared_task(chosen, corpus, tmp_path)


@pytest.mark.parametrize("reads", ["both", "trunk"])
@pytest.mark.parametrize("shared", [True, False])
def test_what_is_exported_is_what_was_trained(
    corpus: Corpus, trunk_folder: Path, tmp_path: Path, reads: str, shared: bool
) -> None:
    """The encoder computes the trunk's vectors of what the training looked up, and comes to the same vectors."""
    chosen = recipe(
        model={"reads": reads, "shared_words": True},
        contexts={"earlier": 0},
        negatives={"shared": shared, "count": 2},
        training={"epochs": 2, "batch": 24},
    )
    prepare(chosen, corpus, _linked(trunk_folder, tmp_path))
    task = prepared_task(chosen, corpus, tmp_path)
    outcome = train(task, chosen.training, world=World())
    task.export(tmp_path / "mp-bert4cr", {"step": outcome.best_step})
    assert (task.hierarchy_share().manuscripts > 0.001) == (outcome.best_step > 0)
    encoder = load_mp_bert4cr_encoder(tmp_path, dtype=torch.float32)
    for name, weight in task.model.state_dict().items():
        assert torch.equal(encoder.model.state_dict()[name], weight), name
    rows = np.arange(len(corpus))
    trained = task.vectors(
        lambda documents: task.model.eval()(None, documents),
        lambda numbers: task.dev_documents.papers(numbers, Draws(0, 0, numbers)),
        rows,
        torch.device("cpu"),
    )
    served = encoder.encode_papers(corpus, rows.astype(np.int32))
    assert float((trained * served).sum(1).min()) > 0.999
    queries = context_queries(corpus, task.dev.positions[:20])
    assert encoder.reading(corpus).encode_queries(queries).shape == (20, 24)


def _linked(source: Path, to: Path) -> Path:
    for name in ("masked-lm", "sentence-texts"):
        (to / name).symlink_to(source / name)
    return to
