"""Weights that training starts from: pretrained ones, and word vectors of the corpus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.small_mp_bert4cr import SHAPE, TEXTS, mp_bert4cr_recipe, prepared_task

from cocite.corpus.store import Corpus
from cocite.errors import ConfigError, NotFoundError
from cocite.systems.mp_bert4cr.pretraining.recipe import HierarchicalPretrainingRecipe
from cocite.systems.mp_bert4cr.pretraining.task import build as build_pretraining
from cocite.systems.mp_bert4cr.sentence_texts import prepare
from cocite.systems.mp_bert4cr.token_vectors import prepare as prepare_vectors


def test_words_can_begin_as_word2vecs(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    (tmp_path / "sentence-texts").symlink_to(folder / "sentence-texts")
    plain = prepared_task(mp_bert4cr_recipe(), corpus, folder)
    recipe = mp_bert4cr_recipe(words={"source": "corpus", "epochs": 1})
    with pytest.raises(NotFoundError, match="holds no word vectors to train on"):
        prepared_task(recipe, corpus, tmp_path)
    assert recipe.token_vectors is not None
    prepare_vectors(recipe.token_vectors, corpus, tmp_path / "token-vectors")
    trained = prepared_task(recipe, corpus, tmp_path)
    random, mixed = (task.model.manuscript.words.weight.detach() for task in (plain, trained))
    assert torch.equal(mixed, trained.model.citation.words.weight)
    changed = ~(random == mixed).all(1)
    bodies = np.unique(np.concatenate([plain.texts.bodies[i] for i in range(200)]))
    assert changed[torch.from_numpy(bodies.astype(np.int64))].float().mean() > 0.5
    assert not changed[plain.texts.tokenizer.pad_token_id]
    half = (mixed * 2**0.5 - random)[changed]
    assert torch.allclose(half.norm(dim=1), random.norm(dim=1).mean(), rtol=1e-4)
    again = prepared_task(
        mp_bert4cr_recipe(words={"source": "corpus", "epochs": 1}, training={"seed": 5}), corpus, tmp_path
    )
    other = 2**0.5 * again.model.manuscript.words.weight[changed]
    sample = prepared_task(
        mp_bert4cr_recipe(training={"seed": 5}), corpus, folder
    ).model.manuscript.words.weight[changed]
    normed = torch.nn.functional.normalize
    assert torch.allclose(normed(other - sample), normed(half), atol=1e-5)  # kept, and not the seed's


def test_it_begins_with_pretrained_weights(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    pretraining = HierarchicalPretrainingRecipe.parse(
        {"texts": TEXTS, "model": SHAPE, "documents": {"sentences": 10, "least": 2}, "decoder_layers": 1}
    )
    first = build_pretraining(pretraining, corpus, folder)
    for name, weight in first.model.encoder.named_parameters():
        if not name.startswith("norm."):
            weight.data.normal_()
    first.export(tmp_path / "pretrained", {})
    task = prepared_task(mp_bert4cr_recipe(pretrained=str(tmp_path / "pretrained")), corpus, folder)
    for name, weight in first.model.encoder.named_parameters():
        assert torch.equal(task.model.manuscript.get_parameter(name), weight)
        assert torch.equal(task.model.citation.get_parameter(name), weight)
    quiet = prepared_task(
        mp_bert4cr_recipe(pretrained=str(tmp_path / "pretrained"), pretrained_branches=0.5), corpus, folder
    ).model
    for name, weight in first.model.encoder.named_parameters():
        factor = 0.5 if ".output." in name or ".narrow." in name else 1
        fresh = name.endswith("places.weight")
        expected = torch.zeros_like(weight) if fresh else factor * weight
        assert torch.equal(quiet.manuscript.get_parameter(name), expected), name
        assert torch.equal(quiet.citation.get_parameter(name), expected), name
    with pytest.raises(ConfigError, match=r"model\.inner is 64, and 48 in the pretrained weights"):
        prepared_task(
            mp_bert4cr_recipe(pretrained=str(tmp_path / "pretrained"), model={"inner": 64}), corpus, folder
        )
    other = tmp_path / "other"
    prepare(mp_bert4cr_recipe(texts={"vocabulary": 350}).texts, corpus, other / "sentence-texts")
    with pytest.raises(ConfigError, match="of another vocabulary"):
        prepared_task(mp_bert4cr_recipe(pretrained=str(tmp_path / "pretrained")), corpus, other)


def test_word_vectors_can_begin_with_the_weights_of_rare_words(corpus: Corpus, folder: Path) -> None:
    plain, weighed = (
        prepared_task(mp_bert4cr_recipe(words={"idf": idf}), corpus, folder) for idf in (False, True)
    )
    texts, end = plain.texts, plain.texts.tokenizer.sep_token_id
    papers = [
        {int(token) for i in range(*texts.abstract_indptr[row : row + 2]) for token in texts.abstracts[i]}
        for row in range(len(texts))
    ]
    words = np.array(
        [np.log((len(texts) + 1) / (sum(t in held for held in papers) + 1)) for t in range(50, 90)]
    )
    for name in ("manuscript", "citation"):
        before, after = (task.model.get_parameter(f"{name}.words.weight") for task in (plain, weighed))
        ratio = (after.norm(dim=1) / before.norm(dim=1)).detach().numpy()
        assert ratio[50:90] / ratio[50:90].mean() == pytest.approx(words / words.mean(), rel=1e-4)
        assert ratio[end] == pytest.approx(0, abs=1e-6)
