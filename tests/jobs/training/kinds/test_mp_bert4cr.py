"""MP-BERT4CR's recipes: the paper's numbers, and from a corpus to a served encoder by the command line alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.pipeline import components
from cocite.protocols import Query
from cocite.systems.mp_bert4cr.pretraining.recipe import HierarchicalPretrainingRecipe
from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
from cocite.text.queries import context_queries
from cocite_jobs.training.recipes import load_recipe

TINY = ["texts.vocabulary=400", "texts.sentence_tokens=24", "model.sentence_tokens=24", "model.hidden=24"]
TINY += ["model.heads=2", "model.inner=48", "training.precision=fp32", "training.batch=24"]
PRETRAINING = [*TINY, "documents.least=2", "documents.dev=20", "training.steps=3"]
TUNING = [*TINY, "dev_contexts=60", "training.steps=3", "pretrained=mp-bert4cr-pretraining", "bag_epochs=0"]


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(200, seed=6, context_rate=2.0, sentences=True)


def tuning(name: str, *overrides: str) -> MpBert4crRecipe:
    recipe = load_recipe(name, overrides)
    assert isinstance(recipe, MpBert4crRecipe)
    return recipe


def test_a_corpus_alone_is_enough(corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--corpus", str(corpus.path), "--to", str(tmp_path), "--on", "process", "--no-track", "--json"]
    code, out, err = call(capsys, "train", "mp-bert4cr-small", *TUNING, *where)
    assert code != 0
    assert "pretrained" in err
    assert "cocite train mp-bert4cr-pretraining" in err
    code, out, err = call(capsys, "train", "mp-bert4cr-pretraining-small", *PRETRAINING, *where)
    assert code == 0, err
    assert set(json.loads(out)["metrics"]) == {"accuracy", "dev loss"}
    code, out, err = call(capsys, "train", "mp-bert4cr-small", *TUNING, *where, "--fresh")
    assert code == 0, err
    trained = json.loads(out)
    assert Path(trained["folder"]) == tmp_path / "mp-bert4cr"
    assert set(trained["metrics"]) == {"R@10", "MAP@10", "R@10 of several"}
    (encoder,) = components.load_encoders(tmp_path)
    vectors = encoder.encode_papers(corpus, np.arange(20, dtype=np.int32))
    assert (vectors @ encoder.encode_queries(context_queries(corpus, np.arange(3))).T).shape == (20, 3)


def test_a_hierarchy_from_a_corpus_alone(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trunk, the sentence level's pretraining and fine-tuning, each by one command, and the encoder of the result."""
    where = ["--corpus", str(corpus.path), "--to", str(tmp_path), "--on", "process", "--no-track", "--json"]
    code, _, err = call(capsys, "train", "mp-bert4cr-hierarchy", *where)
    assert code != 0
    assert "holds no masked-lm" in err
    assert "cocite train masked-lm" in err
    trunk = ["texts.vocabulary=400", "model.hidden=16", "model.layers=2", "model.heads=2", "model.inner=32"]
    trunk += ["training.steps=2", "training.batch=8", "training.precision=fp32"]
    tiny = [*TINY[1:], "training.steps=3", "dev_contexts=60"]
    for name, overrides in (
        ("masked-lm", trunk),
        ("mp-bert4cr-hierarchy-pretraining", [*tiny, "documents.dev=20"]),
        ("mp-bert4cr-hierarchy", [*tiny, "pretrained=mp-bert4cr-pretraining"]),
    ):
        code, out, err = call(capsys, "train", name, *overrides, *where)
        assert code == 0, err
    trained = json.loads(out)
    assert "the layers add" in " ".join(trained["notes"])
    assert (tmp_path / "mp-bert4cr/trunk/model.safetensors").is_file()
    shutil.rmtree(tmp_path / "masked-lm")  # the artifact has a copy of its own
    (encoder,) = components.load_encoders(tmp_path)
    vectors = encoder.encode_papers(corpus, np.arange(20, dtype=np.int32))
    assert vectors.shape == (20, 24)
    assert (vectors @ encoder.encode_queries(context_queries(corpus, np.arange(3))).T).shape == (20, 3)
    run = tmp_path / "run.trec"
    code, _, err = call(
        capsys,
        "evaluate",
        "cocitation",
        "--corpus",
        corpus.path,
        "--model",
        tmp_path,
        "--baselines",
        "none",
        "--sample",
        10,
        "--cache",
        tmp_path / "cache",
        "--no-track",
        "--to",
        run,
    )
    assert code == 0, err


@pytest.mark.parametrize("near", [8, 0])
def test_the_gaps_place_in_its_sentence_counts_where_the_words_next_to_it_are_read(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str], near: int
) -> None:
    where = ["--corpus", str(corpus.path), "--to", str(tmp_path), "--on", "process", "--no-track", "--json"]
    changes = [*TINY, "dev_contexts=60", "training.steps=3", f"contexts.near={near}"]
    code, _, err = call(capsys, "train", "mp-bert4cr-gap", *changes, *where)
    assert code == 0, err
    (encoder,) = components.load_encoders(tmp_path)
    words = corpus.papers.take("abstract", np.array([0]))[0].split()[:30]
    places = [5, 25]
    contexts = [" ".join([*words[:place], "TARGETCIT", *words[place:]]) for place in places]
    first, second = encoder.encode_queries([Query(str(i), text) for i, text in enumerate(contexts)])
    assert np.allclose(first, second, atol=1e-6) == (near == 0)


def test_fine_tuning_has_the_papers_numbers() -> None:
    recipe = tuning("mp-bert4cr")
    model, contexts, optimizer = recipe.model, recipe.contexts, recipe.training.optimizer
    assert (model.sentence_layers, model.document_layers, model.hidden, model.heads) == (6, 6, 768, 12)
    assert (model.dropout, model.norm, model.pooling) == (0.1, "post", "mean")
    assert (2 * contexts.around + 1, contexts.earlier, contexts.abstract, contexts.body) == (3, 27, 10, 30)
    assert (recipe.positives.count, recipe.negatives.count, recipe.negatives.shared) == (3, 4, False)
    assert (recipe.positives.power, recipe.negatives.power) == (0.75, 0.75)
    assert (recipe.objective.loss, recipe.training.batch) == ("mpt-src-tgt", 8)
    assert (optimizer.learning_rate, optimizer.betas, optimizer.weight_decay) == (2e-5, (0.9, 0.98), 0.01)
    assert (recipe.training.schedule.shape, recipe.training.schedule.warmup) == ("inverse-square-root", 1000)
    assert recipe.pretrained == "mp-bert4cr-pretraining"


def test_pretraining_has_the_papers_numbers_and_fits_fine_tuning() -> None:
    for suffix in ("", "-small"):
        recipe = load_recipe(f"mp-bert4cr-pretraining{suffix}")
        assert isinstance(recipe, HierarchicalPretrainingRecipe)
        other = tuning(f"mp-bert4cr{suffix}")
        assert recipe.texts == other.texts
        shared = recipe.model.model_dump()
        assert other.model.model_dump(exclude={"shared_words", "word_dropout"}) == shared
        if not suffix:
            optimizer = recipe.training.optimizer
            assert (optimizer.learning_rate, optimizer.betas) == (1e-4, (0.9, 0.999))
            assert (recipe.training.batch, recipe.training.epochs) == (7 * 4, 50)
            assert (recipe.hiding.share, recipe.hiding.masked, recipe.hiding.replaced) == (0.15, 0.8, 0.1)
        else:
            assert recipe.training.minutes is not None
            assert recipe.training.minutes < 60


def test_the_papers_variants_are_one_override_each() -> None:
    assert tuning("mp-bert4cr", "objective.loss=triplet").drawn_positives == 0
    assert tuning("mp-bert4cr", "contexts.fixed=true").contexts.fixed
    small = tuning("mp-bert4cr-small")
    assert small.negatives.shared
    assert small.training.minutes is not None
    assert small.training.minutes <= 40
