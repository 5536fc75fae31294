from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.citeomatic import select_task

from cocite.corpus.store import Corpus
from cocite.manifests import read_manifest
from cocite.sampling.neighbours import nearest
from cocite.systems.citeomatic.nnselect.encoder import load_encoder
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.nnselect.task import nnselect_task
from cocite.training.engine.world import World
from cocite.training.measure import ranking_metrics


def test_magnitudes_start_at_the_words_idf(training_corpus: Corpus) -> None:
    task = select_task(training_corpus)
    idf = task.fields.vocabularies["words"].inverse_document_frequency(int(task.periods.history.citing.sum()))
    assert task.model.words.magnitude[:, 0].tolist() == pytest.approx((idf / idf.mean()).tolist(), rel=1e-5)


@pytest.mark.parametrize("finetune", [True, False])
def test_pretrained_vectors_are_where_directions_start(
    training_corpus: Corpus, tmp_path: Path, finetune: bool
) -> None:
    plain = select_task(training_corpus)
    word = plain.fields.vocabularies["words"].types[4]
    (tmp_path / "v.txt").write_text(f"{word} {' '.join(map(str, range(16)))}\n")
    recipe = NNSelectRecipe.parse(
        {"model": {"dimension": 16, "pretrained": str(tmp_path / "v.txt"), "finetune": finetune}}
    )
    task = nnselect_task(recipe, plain.periods, plain.fields)
    assert task.model.words.direction[4].tolist() == list(range(16))
    assert torch.equal(task.model.words.direction[5], plain.model.words.direction[5])
    assert task.model.words.direction.requires_grad == finetune


def test_dev_metrics_are_those_of_the_nearest_papers(training_corpus: Corpus) -> None:
    task = select_task(training_corpus)
    dev, vectors = task.periods.dev, task.vectors()
    expected = ranking_metrics(nearest(vectors[dev], vectors, 100, exclude=dev), dev, training_corpus.cites)
    assert task.evaluate(task.model, World()) == expected


def test_the_artifact_says_how_many_epochs_its_weights_have_seen(
    training_corpus: Corpus, tmp_path: Path
) -> None:
    task = select_task(training_corpus)
    for step, epoch in ((0, 0), (1, 1), (task.steps, 1), (task.steps + 1, 2)):
        task.export(tmp_path / "nnselect", {"step": step, "dev": {}})
        assert read_manifest(tmp_path / "nnselect").meta["epoch"] == epoch
    encoder = load_encoder(tmp_path)
    rows = np.arange(len(training_corpus), dtype=np.int32)
    assert np.array_equal(encoder.encode_papers(training_corpus, rows), task.vectors())


def test_the_tables_are_stepped_by_their_rows(training_corpus: Corpus) -> None:
    task = select_task(training_corpus)
    [group] = task.parameter_groups()
    assert group.sparse
    assert group.names == {"words.magnitude", "words.direction"}
    assert group.names < dict(task.model.named_parameters()).keys()
