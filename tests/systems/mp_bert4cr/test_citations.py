"""The artifact of the citations that are trained on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.small_mp_bert4cr import mp_bert4cr_recipe

from cocite.artifacts import seal, verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.manifests import read_manifest
from cocite.sampling.draws import Draws
from cocite.sampling.noise import NegativeSampler
from cocite.systems.mp_bert4cr.citations import KIND, Citations, load, prepare, with_near
from cocite.systems.mp_bert4cr.cocitations import CocitationSampler
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContext
from cocite.systems.mp_bert4cr.encoder_inputs import EncoderInputs
from cocite.systems.mp_bert4cr.examples import CitationExamples
from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
from cocite.systems.mp_bert4cr.sentence_texts import load_from_model_folder
from cocite.text.queries import context_queries
from cocite.text.sentence_texts import SentenceReader
from cocite.training.gaps import Gaps
from cocite.training.periods import Periods


@pytest.fixture
def model(folder: Path, tmp_path: Path) -> Path:
    """A model folder with sentences and nothing else."""
    (tmp_path / "sentence-texts").symlink_to(folder / "sentence-texts")
    return tmp_path


def made(recipe: MpBert4crRecipe, corpus: Corpus, model: Path) -> Citations:
    assert prepare(recipe.citations, corpus, model / KIND)
    verify(model / KIND, kind=KIND)
    return load(model, corpus, recipe.citations)


@pytest.mark.parametrize(
    ("positives", "negatives"),
    [
        ({"source": "both", "single": True}, {"shared": True, "count": 2}),
        ({"source": "context", "power": 0.5}, {"counted": "occurrences", "spare_manuscript": False}),
    ],
)
def test_the_same_is_drawn_as_from_the_history(
    corpus: Corpus, model: Path, positives: dict[str, object], negatives: dict[str, object]
) -> None:
    recipe = mp_bert4cr_recipe(positives=positives, negatives=negatives)
    citations = made(recipe, corpus, model)
    periods = Periods.of(corpus, recipe.texts.period, all_dev=True)
    known = Gaps.known(periods.history)
    owner, targets = known.cited.gather(np.arange(len(known)))
    assert np.array_equal(citations.contexts, known.positions[owner])
    assert np.array_equal(citations.targets, targets)
    examples = CitationExamples(recipe, corpus, citations, load_from_model_folder(model, corpus))
    some = np.arange(0, len(examples), 3)
    sample, draws = examples.sample(some, 2), Draws(recipe.training.seed, 2, some)
    contexts, targets = known.positions[owner[some]], targets[some]
    also = CocitationSampler.of(
        periods.history,
        recipe.positives.power,
        source=recipe.positives.source,
        single=recipe.positives.single,
    ).draw(contexts, targets, recipe.positives.count, draws)
    assert np.array_equal(sample.positives, also)
    assert (also >= 0).any()
    sampler = NegativeSampler.of(
        periods.history,
        recipe.negatives.power,
        count=recipe.negatives.counted,
        exclude_cited=recipe.negatives.spare_manuscript,
    )
    assert np.array_equal(
        sample.negatives, sampler.draw(contexts, recipe.negatives.count, draws, sample.positives)
    )
    dev = Gaps.sample(corpus, periods.dev, recipe.dev_contexts)
    assert np.array_equal(citations.dev.positions, dev.positions)
    assert np.array_equal(citations.dev.cited.indices, dev.cited.indices)


def test_words_next_to_gaps_are_read_as_in_use(corpus: Corpus, model: Path) -> None:
    """A manuscript of training, of which nothing is drawn, is the document that the exported encoder reads."""
    settings = {"near": 4, "earlier": 0, "manuscript_abstract": 2}
    recipe = mp_bert4cr_recipe(contexts=settings)
    citations = made(recipe, corpus, model)
    texts = with_near(load_from_model_folder(model, corpus), citations.near)
    positions = np.arange(60)
    trained = DynamicContext(recipe.contexts, texts).contexts(positions, Draws(0, 0, positions))
    inputs = EncoderInputs(SentenceReader(texts.tokenizer, 24), recipe.contexts, title=True, sentences=12)
    queries = context_queries(corpus, positions)
    used = inputs.gaps(queries, corpus)
    for name in ("ids", "sentences", "documents"):
        assert torch.equal(getattr(used, name), getattr(trained, name))
    near = inputs.reader.near([query.context for query in queries], 4)
    assert near.counts.max() > 5
    for number, sentence in enumerate(trained.documents[:-1].tolist()):
        low, high = trained.sentences[sentence : sentence + 2].tolist()
        assert trained.ids[low:high].tolist() == near[number].tolist()


def test_they_are_mapped(corpus: Corpus, model: Path) -> None:
    citations = made(mp_bert4cr_recipe(), corpus, model)
    arrays = [
        *(citations.links.citing, citations.links.cited.indptr, citations.links.cited.indices),
        *(citations.sentences, citations.contexts, citations.targets, citations.lengths, citations.often),
        *(citations.cocitations.pairs.indptr, citations.cocitations.pairs.indices),
        *(citations.cocitations.masses, citations.cocitations.ends),
        *(citations.noise.rows, citations.noise.masses, citations.noise.ends),
        *(citations.dev.positions, citations.dev.citing, citations.dev.cited.indices),
    ]
    # An array over a mapped file has that file's mapping below it, and owns no data.
    assert all(not array.flags.owndata and not array.flags.writeable for array in arrays)
    assert isinstance(citations.lengths, np.memmap)


def test_other_ones_are_made_anew_and_refused(corpus: Corpus, model: Path) -> None:
    recipe, other = mp_bert4cr_recipe(), mp_bert4cr_recipe(positives={"power": 0.5})
    made(recipe, corpus, model)
    assert not prepare(recipe.citations, corpus, model / KIND)
    with pytest.raises(InputError, match="the citations were made with other settings"):
        load(model, corpus, other.citations)
    masses = load(model, corpus, recipe.citations).cocitations.masses
    changed = made(other, corpus, model).cocitations.masses
    assert np.allclose(changed**1.5, masses)
    with pytest.raises(NotFoundError, match="holds no citations to train on"):
        load(model / "none", corpus, recipe.citations)
    with pytest.raises(NotFoundError, match="holds no sentences to train on"):
        prepare(recipe.citations, corpus, model / "none" / KIND)


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("targets", ""),
        ("often", ""),
        ("noise.ends", ""),
        ("cocitations.masses", ""),
        ("contexts.cited.indices", r" of contexts\.cited"),
        ("dev.cited.indptr", r" of dev\.cited"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(corpus: Corpus, model: Path, name: str, of: str) -> None:
    recipe = mp_bert4cr_recipe()
    assert prepare(recipe.citations, corpus, model / KIND)
    path = model / KIND / f"{name}.npy"
    np.save(path, np.load(path, allow_pickle=False)[:-1], allow_pickle=False)
    with pytest.raises(IntegrityError, match=rf"{name}\.npy: damaged"):
        load(model, corpus, recipe.citations)
    manifest = read_manifest(model / KIND)
    seal(model / KIND, kind=manifest.kind, meta=manifest.meta)
    with pytest.raises(IntegrityError, match=f"the arrays{of} do not fit each other"):
        load(model, corpus, recipe.citations)


def test_a_period_without_dev_papers_is_refused(corpus: Corpus, model: Path) -> None:
    texts = mp_bert4cr_recipe().texts.model_dump() | {"period": {"train_until": 2019}}
    with pytest.raises(InputError, match="no paper of the dev period cites another"):
        prepare(mp_bert4cr_recipe(texts=texts).citations, corpus, model / KIND)
