"""The training task of a cross-encoder of two layers: groups, losses, dev metric, and a short run of the loop."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.cross_encoder_recipes import small_recipe
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert
from torch.utils.flop_counter import FlopCounterMode

from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.manifests import read_manifest
from cocite.pipeline.candidate_files import prepare
from cocite.protocols import NO_ROW
from cocite.systems.cross_encoder import pair_tokens
from cocite.systems.cross_encoder.losses import pairwise_triplet_loss
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.recipe import CrossEncoderRecipe
from cocite.systems.cross_encoder.task import CrossEncoderTask, build
from cocite.training.engine.loop import train
from cocite.training.engine.world import World


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(600, seed=11)


@pytest.fixture(scope="module")
def encoder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Knows the words of the corpus' titles."""
    titles = corpus.papers.take("title", np.arange(len(corpus)))
    return tiny_bert(tmp_path_factory.mktemp("bert") / "bert", {w for t in titles for w in t.lower().split()})


@pytest.fixture(scope="module")
def folder(corpus: Corpus, encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with candidates and their tokens."""
    folder, recipe = tmp_path_factory.mktemp("model"), small_recipe(encoder)
    prepare(recipe.candidates, corpus, folder / "candidates")
    pair_tokens.prepare(recipe.tokens, corpus, folder / "pair-tokens")
    return folder


@pytest.fixture
def task(corpus: Corpus, encoder: Path, folder: Path) -> CrossEncoderTask:
    return build(small_recipe(encoder), corpus, folder)


def test_without_candidates_there_is_nothing_to_train_on(
    corpus: Corpus, encoder: Path, tmp_path: Path
) -> None:
    with pytest.raises(NotFoundError, match="holds no candidates to train on"):
        build(small_recipe(encoder), corpus, tmp_path)


def test_tokens_of_another_tokenizer_are_refused(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    other = tiny_bert(tmp_path / "bert", {"unlike"})
    with pytest.raises(InputError, match="the tokens were made with other settings"):
        build(small_recipe(other), corpus, folder)


def test_the_same_encoder_in_another_place_takes_the_tokens(
    corpus: Corpus, encoder: Path, folder: Path, tmp_path: Path, task: CrossEncoderTask
) -> None:
    shutil.copytree(encoder, tmp_path / "bert")
    moved = build(small_recipe(tmp_path / "bert"), corpus, folder)
    assert torch.equal(moved.collate(np.arange(3), 0).pairs.ids, task.collate(np.arange(3), 0).pairs.ids)


def test_an_example_is_a_query_with_its_group(corpus: Corpus, task: CrossEncoderTask) -> None:
    examples = np.array([3, 0, 7])
    batch = task.collate(examples, 0)
    assert batch.present.shape == batch.relevant.shape == (3, 6)
    assert int(batch.present.sum()) == len(batch.pairs) == 18
    assert batch.relevant[:, 0].all()
    assert not batch.relevant[:, 1:].any()
    rows, _ = task.groups.epoch(0)
    part = task.sides["train"].part
    queries = part.take(task.groups.queries[examples]).queries(corpus)
    read = task.model.pairs.tokenizer
    for i, query in enumerate(queries):
        start, end = batch.pairs.offsets[6 * i], batch.pairs.offsets[6 * i + 1]
        words = read.decode(batch.pairs.ids[start:end]).split("[SEP]")
        positive = corpus.paper(int(rows[examples[i], 0]))
        gap = query.context.lower().split("targetcit")
        assert gap[0].split()[-1] in words[0].split("[MASK]")[0]
        assert words[1].split()[:3] == positive.title.lower().split()[:3]


def test_lengths_are_those_of_the_pairs(task: CrossEncoderTask) -> None:
    lengths = task.lengths(2)
    assert len(lengths) == len(task.groups) > 50
    for example in (0, 11):
        assert len(task.collate(np.array([example]), 2).pairs.ids) == lengths[example]


def test_the_loss_of_an_example_does_not_depend_on_its_batch(task: CrossEncoderTask) -> None:
    task.model.eval()
    with torch.no_grad():
        together = task.loss(task.model, task.collate(np.arange(6), 1))
        alone = [task.loss(task.model, task.collate(np.array([i]), 1)) for i in range(6)]
    assert together.shape == (6,)
    torch.testing.assert_close(together, torch.cat(alone))


@pytest.mark.parametrize("earlier_only", [True, False])
def test_random_papers_are_read_and_are_no_later_where_candidates_are_not(
    corpus: Corpus, encoder: Path, tmp_path: Path, earlier_only: bool
) -> None:
    sections = {"candidates": {"earlier_only": earlier_only}, "objective": {"negatives": 3, "random": 4}}
    recipe = small_recipe(encoder, **sections)
    prepare(recipe.candidates, corpus, tmp_path / "candidates")
    pair_tokens.prepare(recipe.tokens, corpus, tmp_path / "pair-tokens")
    task = build(recipe, corpus, tmp_path)
    batch = task.collate(np.arange(len(task.groups)), 0)
    assert batch.present.shape == (len(task.groups), 8)
    assert batch.present.all()
    assert (
        task.model.pairs.lengths(*task._sides("train", task.groups.queries, task.groups.epoch(0)[0])) > 3
    ).all()
    rows, _ = task.groups.epoch(0)
    citing = task.sides["train"].part.papers(corpus)[task.groups.queries]
    later = np.asarray(corpus.years)[rows[:, -4:]] > np.asarray(corpus.years)[citing][:, None]
    assert later.any() != earlier_only


def test_padding_takes_no_part_in_a_loss(corpus: Corpus, encoder: Path, folder: Path) -> None:
    task = build(small_recipe(encoder, objective={"negatives": 40}), corpus, folder)
    batch = task.collate(np.arange(4), 0)
    assert batch.present.shape == (4, 41)
    assert int(batch.present.sum()) == len(batch.pairs) < 4 * 22
    task.model.eval()
    with torch.no_grad():
        found = task.loss(task.model, batch)
        scores = task.model(batch.pairs).split(batch.present.sum(1).tolist())
    for one, group in zip(found, scores, strict=True):
        relevant = torch.arange(len(group)) == 0
        wanted = pairwise_triplet_loss(group[None], relevant[None], torch.ones(1, len(group)).bool())
        torch.testing.assert_close(one, wanted[0])


def test_a_balanced_loss_sums_the_logs_of_as_many_cited_papers_as_others(
    corpus: Corpus, encoder: Path, folder: Path
) -> None:
    objective = {"loss": "pointwise", "candidates": "top", "top": 6, "balanced": True}
    task = build(small_recipe(encoder, objective=objective), corpus, folder)
    task.model.eval().double()
    batch = task.collate(np.arange(20), 0)
    assert torch.equal((batch.relevant & batch.present).sum(1), (~batch.relevant & batch.present).sum(1))
    assert 2 * len(batch.present) <= len(batch.pairs) < 6 * len(batch.present), "some have fewer than three"
    with torch.no_grad():
        scores = task.model(batch.pairs).numpy()
        found = task.loss(task.model, batch).numpy()
    probability = 1 / (1 + np.exp(-scores.astype(np.float64)))
    owner = np.nonzero(batch.present.numpy())[0]
    is_cited = batch.relevant.numpy()[batch.present.numpy()]
    terms = np.where(is_cited, np.log(probability), np.log(1 - probability))
    np.testing.assert_allclose(found, -np.bincount(owner, terms), rtol=1e-6)


@pytest.mark.parametrize(
    "objective",
    [
        {"loss": "triplet", "margin": 0.1},
        {"loss": "pointwise", "candidates": "top", "top": 10},
        {"loss": "pointwise", "candidates": "top", "top": 10, "balanced": True},
        {"loss": "listwise", "negatives": 7, "near": 10, "near_share": 0.5},
    ],
    ids=lambda objective: objective["loss"] + " balanced" * objective.get("balanced", False),
)
def test_each_loss_falls(corpus: Corpus, encoder: Path, folder: Path, objective: dict[str, Any]) -> None:
    chosen = small_recipe(encoder, objective=objective, training={"steps": 24, "log_every": 4})
    _falls(chosen, corpus, folder)


def test_it_falls_where_the_sides_are_compared(corpus: Corpus, encoder: Path, folder: Path) -> None:
    chosen = small_recipe(encoder, objective={"loss": "listwise"}, training={"steps": 24})
    _falls(chosen.model_copy(update={"readout": "similarity"}), corpus, folder)


def _falls(chosen: CrossEncoderRecipe, corpus: Corpus, folder: Path) -> None:
    task = build(chosen, corpus, folder)
    metrics: list[dict[str, float]] = []

    def log(values: dict[str, float], _: int) -> None:
        metrics.extend([values] if "MRR" in values else [])

    def loss() -> float:
        with torch.no_grad():
            return float(task.loss(task.model.eval(), task.collate(np.arange(len(task.groups)), 0)).mean())

    before = loss()
    outcome = train(task, chosen.training, world=World(), log=log)
    assert outcome.steps == 24
    assert loss() < before
    assert set(metrics[0]) == {
        f"{of}{name}" for of in ("", "retriever ") for name in ("F1@20", "MRR", "R@10")
    }
    assert all(m["retriever MRR"] == metrics[0]["retriever MRR"] for m in metrics)


def test_the_dev_metric_is_that_of_scoring_pair_by_pair(corpus: Corpus, task: CrossEncoderTask) -> None:
    task.model.eval()
    with torch.no_grad():
        found = task.evaluate(task.model, World())
        part = task.sides["dev"].part
        reciprocal, recall = [], []
        for i, query in enumerate(part.queries(corpus)):
            rows = part.rows[i][part.rows[i] != NO_ROW]
            left = task.model.pairs.queries([query])
            papers = corpus.papers_at(rows)
            scores = [
                float(
                    task.model(task.model.pairs.batch(left, task.model.pairs.papers([p.title], [p.abstract])))
                )
                for p in papers
            ]
            ranked = rows[np.argsort(-np.array(scores), kind="stable")]
            hits = np.isin(ranked, part.cited[i])
            reciprocal.append(1 / (1 + hits.argmax()) if hits.any() else 0.0)
            recall.append(hits[:10].sum() / len(part.cited[i]))
    assert found["MRR"] == pytest.approx(np.mean(reciprocal))
    assert found["R@10"] == pytest.approx(np.mean(recall))


def test_what_is_exported_scores_as_what_was_trained(task: CrossEncoderTask, tmp_path: Path) -> None:
    task.model.eval()
    task.export(tmp_path / "model", {"dev": {}})
    loaded = CrossEncoder.load(tmp_path / "model")
    batch = task.collate(np.arange(3), 0).pairs
    with torch.no_grad():
        assert torch.equal(loaded(batch), task.model(batch))
    assert loaded.pairs.settings == task.recipe.pairs


def test_the_weights_are_those_of_the_seed(corpus: Corpus, encoder: Path, folder: Path) -> None:
    one, two = (build(small_recipe(encoder), corpus, folder) for _ in range(2))
    other = build(small_recipe(encoder, training={"seed": 1}), corpus, folder)
    assert torch.equal(one.model.head.weight, two.model.head.weight)
    assert not torch.equal(one.model.head.weight, other.model.head.weight)


def test_flops_are_those_of_the_matrix_products(task: CrossEncoderTask) -> None:
    task.model.eval()
    batch = task.collate(np.arange(4), 0)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        task.model(batch.pairs)
    # The counter sees the head, and does not see attention.
    lengths, hidden = batch.pairs.lengths, task.model.backbone.config.hidden_size
    attention = 4 * hidden * int(lengths.square().sum() + lengths.sum())
    seen = counter.get_total_flops() - 2 * hidden * len(lengths)
    assert task.flops(batch) / 3 == pytest.approx(seen + attention, rel=1e-9)


@pytest.mark.parametrize(("keep", "out"), [("unless_below", ["local", "global"]), ("always", [])])
def test_one_that_is_below_its_retriever_is_left_out(
    corpus: Corpus, encoder: Path, folder: Path, tmp_path: Path, keep: str, out: list[str]
) -> None:
    chosen = CrossEncoderRecipe.model_validate(small_recipe(encoder).model_dump() | {"keep": keep})
    task = build(chosen, corpus, folder)
    dev = {
        "F1@20": 0.1,
        "MRR": 0.4,
        "R@10": 0.2,
        "retriever F1@20": 0.1,
        "retriever MRR": 0.3,
        "retriever R@10": 0.2,
    }
    for name, below in (("good", False), ("bad", True)):
        task.export(tmp_path / name, {"dev": dev | ({"R@10": 0.19} if below else {}), "notes": ["kept"]})
        meta = read_manifest(tmp_path / name).meta
        assert set(meta["left_out"]) == set(out if below else [])
        place = "below" if below else "not below"
        assert meta["notes"][0] == "kept"
        assert (
            f"cross-encoder is {place} its retriever on 12 local dev queries: F1@20 0.100 against"
            in meta["notes"][1]
        )
