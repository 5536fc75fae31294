"""MP-BERT4CR's fine-tuning: its examples, both ways to negatives, and what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.changed_weights import changed_by

from cocite.artifacts import verify
from cocite.corpus.builder import build as build_corpus
from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import ConfigError, NotFoundError
from cocite.protocols import NO_ROW, Ranking
from cocite.systems.mp_bert4cr.build import MpBert4crRecipe, build
from cocite.systems.mp_bert4cr.encoder import load_mp_bert4cr_encoder
from cocite.systems.mp_bert4cr.losses.mpt_src_tgt import mpt_src_tgt
from cocite.systems.mp_bert4cr.pretraining.task import HierarchicalPretrainingRecipe
from cocite.systems.mp_bert4cr.pretraining.task import build as build_pretraining
from cocite.systems.mp_bert4cr.sentence_texts import prepare
from cocite.systems.mp_bert4cr.task import MpBert4crTask, SharedNegativesTask, recommendation_metrics
from cocite.training.engine.loop import train
from cocite.training.engine.stores import FolderStore
from cocite.training.engine.task import ContrastiveTask
from cocite.training.engine.world import World
from cocite.training.gaps import Gaps

TEXTS = {"vocabulary": 400, "sentence_tokens": 24, "period": {"train_until": 2015}}
SHAPE = {"sentence_layers": 1, "document_layers": 1, "hidden": 24, "heads": 2, "inner": 48, "dropout": 0.0}
SHAPE |= {"norm": "pre", "sentence_tokens": 24, "sentences": 12}


def recipe(**sections: Any) -> MpBert4crRecipe:
    data: dict[str, Any] = {
        "texts": TEXTS,
        "contexts": {"earlier": 3, "abstract": 4, "body": 2},
        "dev_contexts": 60,
        "model": SHAPE,
        "training": {
            "batch": 32,
            "tokens": 20_000,
            "optimizer": {"learning_rate": 3e-3},
            "schedule": {"warmup": 2},
        },
    }
    for name, values in sections.items():
        data[name] = {**data.get(name, {}), **values} if isinstance(values, dict) else values
    return MpBert4crRecipe.parse({"kind": "mp-bert4cr", **data})


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build_corpus(
        Synthetic(300, seed=4, context_rate=2.0, sentences=True), tmp_path_factory.mktemp("mpb") / "corpus"
    )


@pytest.fixture(scope="module")
def folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with sentences."""
    folder = tmp_path_factory.mktemp("model")
    prepare(recipe().texts, corpus, folder / "sentence-texts")
    return folder


def test_an_example_is_a_citation_of_the_training_period(corpus: Corpus, folder: Path) -> None:
    task = build(recipe(), corpus, folder)
    examples = np.arange(len(task.lengths(0)))
    drawn = task.citations.draw(examples, 0)
    assert len(drawn.contexts) == len(examples) > 200
    assert corpus.years[corpus.context_citing[drawn.contexts]].max() <= 2015
    assert corpus.context_cited.contains(drawn.contexts, drawn.targets).all()
    assert drawn.positives.shape == (len(examples), 3)
    assert drawn.negatives.shape == (len(examples), 4)
    assert (drawn.positives != NO_ROW).any()
    citing = corpus.context_citing[drawn.contexts]
    assert not corpus.cites.contains(citing[:, None], drawn.negatives).any()
    held = np.unique(np.concatenate([drawn.targets, drawn.positives.ravel(), drawn.negatives.ravel()]))
    assert np.array_equal(drawn.papers, held[held != NO_ROW])


def test_an_example_hangs_on_seed_epoch_and_number_alone(corpus: Corpus, folder: Path) -> None:
    task = build(recipe(), corpus, folder)
    together, alone = task.collate(np.array([4, 9, 2]), 1), task.collate(np.array([9]), 1)
    assert np.array_equal(together.drawn.positives[1], alone.drawn.positives[0])
    assert np.array_equal(together.drawn.negatives[1], alone.drawn.negatives[0])
    task.model.eval()
    with torch.no_grad():
        whole = task.model(together.manuscripts, together.papers)
        part = task.model(alone.manuscripts, alone.papers)
    torch.testing.assert_close(whole[1], part[0], rtol=1e-4, atol=1e-4)
    place = np.searchsorted(together.drawn.papers, alone.drawn.papers)
    torch.testing.assert_close(whole[3:][place], part[1:], rtol=1e-4, atol=1e-4)
    other = task.collate(np.array([9]), 2)
    assert not np.array_equal(other.drawn.negatives, alone.drawn.negatives)


def test_lengths_tell_the_tokens_of_a_batch(corpus: Corpus, folder: Path) -> None:
    task = build(recipe(), corpus, folder)
    lengths = task.lengths(0)
    batches = [task.collate(np.array([i]), 0) for i in range(0, 200, 10)]
    tokens = [len(batch.manuscripts.ids) + len(batch.papers.ids) for batch in batches]
    # Every example is reckoned with all the positives that it may draw; few have any.
    assert 0.9 < lengths[:200:10].mean() / np.mean(tokens) < 2.0


def test_the_loss_of_an_example_is_the_papers_equation(corpus: Corpus, folder: Path) -> None:
    task = build(recipe(), corpus, folder)
    assert not isinstance(task, ContrastiveTask)
    task.model.eval()
    examples = np.arange(12)
    batch = task.collate(examples, 0)
    with torch.no_grad():
        found = task.loss(task.model, batch)
        vectors = task.model(batch.manuscripts, batch.papers)
    drawn = batch.drawn
    row = {int(paper): vectors[12 + i] for i, paper in enumerate(drawn.papers)}

    def far(one: torch.Tensor, other: torch.Tensor) -> float:
        return float((one.double() - other.double()).norm())

    for i in range(12):
        source, target = vectors[i], row[int(drawn.targets[i])]
        positives = [row[int(paper)] for paper in drawn.positives[i] if paper != NO_ROW]
        total = 0.0
        for negative in (row[int(paper)] for paper in drawn.negatives[i]):
            total += np.exp(far(source, target) - far(source, negative))
            for positive in positives:
                total += np.exp(far(source, positive) - far(source, negative))
                total += np.exp(far(target, positive) - far(target, negative))
        assert float(found[i]) == pytest.approx(np.log1p(total), rel=1e-4)


@pytest.mark.parametrize("loss", ["triplet", "mpt-tgt", "mpt-src", "mpt-src-tgt"])
def test_shared_negatives_are_all_papers_of_the_step_that_are_none_of_an_example(
    corpus: Corpus, folder: Path, loss: str
) -> None:
    task = build(recipe(negatives={"shared": True, "count": 1}, objective={"loss": loss}), corpus, folder)
    assert isinstance(task, SharedNegativesTask)
    assert isinstance(task, ContrastiveTask)
    task.model.eval()
    whole = np.arange(10, 30)
    pieces = [whole[:12], whole[12:]]
    with torch.no_grad():
        direct = task.loss(task.model, task.collate(whole, 0))
        vectors = torch.cat([task.embed(task.model, task.collate(piece, 0)) for piece in pieces])
        torch.testing.assert_close(task.contrast(vectors, pieces, 0), direct, rtol=1e-4, atol=1e-4)
        if loss != "mpt-src-tgt":
            return
        batch = task.collate(whole, 0)
        drawn, vectors = batch.drawn, task.model(batch.manuscripts, batch.papers)
        row = {int(paper): vectors[20 + i] for i, paper in enumerate(drawn.papers)}
        for i in (0, 7, 19):
            own = drawn.positives[i][drawn.positives[i] != NO_ROW]
            none = {int(drawn.targets[i]), int(corpus.context_citing[drawn.contexts[i]]), *own.tolist()}
            none |= set(corpus.cites[int(corpus.context_citing[drawn.contexts[i]])].tolist())
            others = torch.stack([row[int(paper)] for paper in drawn.papers if int(paper) not in none])
            positives = torch.stack([row[int(p)] for p in own]) if len(own) else torch.zeros(0, 24)
            expected = mpt_src_tgt(
                vectors[i : i + 1],
                row[int(drawn.targets[i])][None],
                positives[None],
                torch.ones(1, len(own), dtype=torch.bool),
                others,
                torch.ones(1, len(others), dtype=torch.bool),
            )
            assert float(direct[i]) == pytest.approx(float(expected[0]), rel=1e-4)


def test_the_correction_makes_up_for_how_often_a_paper_comes(corpus: Corpus, folder: Path) -> None:
    shared = {"shared": True, "count": 1}
    plain, half, whole = (
        build(recipe(negatives={**shared, "correction": power}), corpus, folder) for power in (0.0, 0.5, 1.0)
    )
    papers = np.arange(len(corpus), dtype=np.int32)
    often = 1 + np.bincount(whole.citations.cited, minlength=len(corpus))
    found = whole.citations.weights(papers)
    assert found * often == pytest.approx(np.full(len(corpus), often.mean()), rel=1e-5)
    assert half.citations.weights(papers) ** 2 == pytest.approx(found, rel=1e-5)
    assert np.array_equal(plain.citations.weights(papers), np.ones(len(corpus)))
    batch = plain.collate(np.arange(20), 0)
    with torch.no_grad():
        losses = [task.loss(plain.model.eval(), batch) for task in (plain, whole)]
    assert not torch.allclose(*losses, rtol=1e-3)


def test_layers_join_after_the_bag_epochs(corpus: Corpus, folder: Path) -> None:
    task = build(recipe(bag_epochs=2), corpus, folder)
    model, layers = task.model, [name for name, _ in task.model.named_parameters() if "_layers." in name]
    before, after = task.collate(np.arange(8), 1), task.collate(np.arange(8), 2)
    assert (before.layers, after.layers) == (False, True)
    assert task.flops(before) == 0
    task.loss(model, before).sum().backward()
    assert layers
    assert all(model.get_parameter(name).grad is None for name in layers)
    assert model.get_parameter("manuscript.words.weight").grad is not None
    task.loss(model, after).sum().backward()
    assert all(model.get_parameter(name).grad is not None for name in layers)
    with torch.no_grad():  # they begin as nothing
        bag = model(before.manuscripts, before.papers, layers=False)
        torch.testing.assert_close(model(before.manuscripts, before.papers), bag)
        for name in layers:
            model.get_parameter(name).normal_()
        assert not torch.allclose(model(before.manuscripts, before.papers), bag, atol=0.1)


def test_words_can_begin_as_word2vecs(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    (tmp_path / "sentence-texts").symlink_to(folder / "sentence-texts")
    plain = build(recipe(), corpus, folder)
    trained = build(recipe(words={"source": "corpus", "epochs": 1}), corpus, tmp_path)
    verify(tmp_path / "token-vectors", kind="token-vectors")
    random, mixed = (task.model.manuscript.words.weight.detach() for task in (plain, trained))
    assert torch.equal(mixed, trained.model.citation.words.weight)
    changed = ~(random == mixed).all(1)
    bodies = np.unique(np.concatenate([plain.texts.bodies[i] for i in range(200)]))
    assert changed[torch.from_numpy(bodies.astype(np.int64))].float().mean() > 0.5
    assert not changed[plain.texts.tokenizer.pad_token_id]
    half = (mixed * 2**0.5 - random)[changed]
    assert torch.allclose(half.norm(dim=1), random.norm(dim=1).mean(), rtol=1e-4)
    again = build(recipe(words={"source": "corpus", "epochs": 1}, training={"seed": 5}), corpus, tmp_path)
    other = 2**0.5 * again.model.manuscript.words.weight[changed]
    drawn = build(recipe(training={"seed": 5}), corpus, folder).model.manuscript.words.weight[changed]
    normed = torch.nn.functional.normalize
    assert torch.allclose(normed(other - drawn), normed(half), atol=1e-5)  # kept, and not the seed's


def test_metrics_are_those_of_the_papers_tables() -> None:
    cited = CSR.build([0, 1, 1, 1], [5, 1, 2, 3], 2)
    rows = np.array([[9, 5, 8], [1, 7, 3]], np.int32)
    found = Ranking(rows, -np.arange(6, dtype=np.float32).reshape(2, 3))
    gaps = Gaps(np.arange(2), np.zeros(2, np.int32), cited)
    assert recommendation_metrics(found, gaps) == pytest.approx(
        {
            "R@10": (1 + 2 / 3) / 2,
            "MAP@10": (1 / 2 + (1 + 2 / 3) / 3) / 2,
            "R@10 of several": 2 / 3,
        }
    )


@pytest.mark.parametrize("shared", [True, False])
def test_training_finds_more_of_what_is_cited_and_leaves_an_encoder(
    corpus: Corpus, folder: Path, tmp_path: Path, shared: bool
) -> None:
    chosen = recipe(
        training={"epochs": 3, "batch": 24},
        negatives={"shared": shared, "count": 2},
        model={"shared_words": True},
    )
    task = build(chosen, corpus, folder)
    seen: list[dict[str, float]] = []
    outcome = train(
        task, chosen.training, world=World(), log=lambda m, _: seen.append(m) if "R@10" in m else None
    )
    assert outcome.best["R@10"] > seen[0]["R@10"] + 0.02
    task.export(tmp_path / "mp-bert4cr", {"dev": outcome.best})
    verify(tmp_path / "mp-bert4cr", kind="mp-bert4cr")
    encoder = load_mp_bert4cr_encoder(tmp_path, dtype=torch.float32)
    for name, weight in task.model.state_dict().items():
        assert torch.equal(encoder.model.state_dict()[name], weight), name


def test_a_resumed_training_ends_as_one_never_interrupted(
    corpus: Corpus, folder: Path, tmp_path: Path
) -> None:
    chosen = recipe(training={"steps": 6, "tokens": 4000, "checkpoint_every": 3}, negatives={"shared": True})

    class Killed(Exception):
        pass

    class KilledStore(FolderStore):
        def save(self, *arguments: Any) -> None:
            super().save(*arguments)
            raise Killed

    world = World()
    plain = build(chosen, corpus, folder)
    train(plain, chosen.training, world=world)
    with pytest.raises(Killed):
        train(
            build(chosen, corpus, folder),
            chosen.training,
            world=world,
            store=KilledStore(tmp_path, world, metric="R@10", keep=1),
        )
    task = build(chosen, corpus, folder)
    store = FolderStore(tmp_path, world, metric="R@10", keep=1)
    train(task, chosen.training, world=world, store=store)
    for (name, one), other in zip(plain.model.named_parameters(), task.model.parameters(), strict=True):
        assert torch.equal(one, other), name


def test_it_begins_with_pretrained_weights(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    pretraining = HierarchicalPretrainingRecipe.parse(
        {"texts": TEXTS, "model": SHAPE, "documents": {"sentences": 10, "least": 2}, "decoder_layers": 1}
    )
    first = build_pretraining(pretraining, corpus, folder)
    for name, weight in first.model.encoder.named_parameters():
        if not name.startswith("norm."):
            weight.data.normal_()
    first.export(tmp_path / "pretrained", {})
    task = build(recipe(pretrained=str(tmp_path / "pretrained")), corpus, folder)
    for name, weight in first.model.encoder.named_parameters():
        assert torch.equal(task.model.manuscript.get_parameter(name), weight)
        assert torch.equal(task.model.citation.get_parameter(name), weight)
    quiet = build(
        recipe(pretrained=str(tmp_path / "pretrained"), pretrained_branches=0.5), corpus, folder
    ).model
    for name, weight in first.model.encoder.named_parameters():
        factor = 0.5 if ".output." in name or ".narrow." in name else 1
        fresh = name.endswith("places.weight")
        expected = torch.zeros_like(weight) if fresh else factor * weight
        assert torch.equal(quiet.manuscript.get_parameter(name), expected), name
        assert torch.equal(quiet.citation.get_parameter(name), expected), name
    with pytest.raises(ConfigError, match="pretrained_branches is for a model with norm: pre"):
        recipe(pretrained_branches=0.5, model={"norm": "post"})
    with pytest.raises(ConfigError, match=r"model\.inner is 64, and 48 in the pretrained weights"):
        build(recipe(pretrained=str(tmp_path / "pretrained"), model={"inner": 64}), corpus, folder)
    other = tmp_path / "other"
    prepare(recipe(texts={"vocabulary": 350}).texts, corpus, other / "sentence-texts")
    with pytest.raises(ConfigError, match="of another vocabulary"):
        build(recipe(pretrained=str(tmp_path / "pretrained")), corpus, other)


@pytest.mark.parametrize("shared", [True, False])
def test_word_vectors_may_stay_as_they_begin(corpus: Corpus, folder: Path, shared: bool) -> None:
    chosen = recipe(
        words={"trained": False}, model={"shared_words": shared}, training={"steps": 3, "log_every": 1}
    )
    task = build(chosen, corpus, folder)
    changed = changed_by(chosen.training, task)
    assert not any("words" in name for name in changed)
    assert "manuscript.sentence_layers.0.output.weight" in changed


def test_word_vectors_can_begin_with_the_weights_of_rare_words(corpus: Corpus, folder: Path) -> None:
    plain, weighed = (build(recipe(words={"idf": idf}), corpus, folder) for idf in (False, True))
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


def test_mistakes_are_told(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no sentences to train on"):
        build(recipe(), corpus, tmp_path)
    with pytest.raises(NotFoundError, match="no pretrained weights 'mp-bert4cr-pretraining'"):
        build(recipe(pretrained="mp-bert4cr-pretraining"), corpus, folder)
    with pytest.raises(ConfigError, match=r"texts\.sentence_tokens is 30, and the model reads 24"):
        recipe(texts={"sentence_tokens": 30})
    with pytest.raises(ConfigError, match="documents of 22 sentences, and the model reads 12"):
        recipe(contexts={"body": 18})
    with pytest.raises(ConfigError, match="bag_epochs is for a model with norm: pre"):
        recipe(bag_epochs=1, model={"norm": "post"})
    with pytest.raises(ConfigError, match="correction is for shared negatives"):
        recipe(negatives={"correction": 1.0})
    with pytest.raises(ConfigError, match="there would be no negatives"):
        recipe(negatives={"count": 0})


def test_flops_count_both_encoders(corpus: Corpus, folder: Path) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    task: MpBert4crTask = build(recipe(), corpus, folder)
    batch = task.collate(np.arange(8), 0)
    with FlopCounterMode(display=False) as counter:
        task.loss(task.model, batch).sum().backward()
    assert task.flops(batch) == pytest.approx(counter.get_total_flops(), rel=0.1)
