"""The artifact of the tokens that a cross-encoder is trained on."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.candidate_sets import save
from helpers.cross_encoder_recipes import small_recipe
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert

from cocite.artifacts import seal, verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.manifests import read_manifest
from cocite.nn.pretrained_transformers import load_tokenizer
from cocite.pipeline import candidate_files
from cocite.protocols import NO_ROW
from cocite.systems.cross_encoder import pair_tokens
from cocite.systems.cross_encoder.pair_tokens import KIND, PairTokenSettings, load, prepare
from cocite.systems.cross_encoder.recipe import CrossEncoderRecipe
from cocite.text.pair_tokenizer import PairTokenizer
from cocite.text.token_files import TokenListWriter
from cocite.text.token_lists import TokenLists
from cocite.training import candidates


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=11)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert") / "bert", {"the", "of", "a"})


@pytest.fixture(scope="module")
def recipe(encoder: Path) -> CrossEncoderRecipe:
    return small_recipe(encoder)


@pytest.fixture(scope="module")
def made(corpus: Corpus, recipe: CrossEncoderRecipe, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    candidate_files.prepare(recipe.candidates, corpus, folder / "candidates")
    assert prepare(recipe.tokens, corpus, folder / KIND)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "model"))


def test_they_are_those_of_the_texts(
    corpus: Corpus, recipe: CrossEncoderRecipe, made: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = load(made, corpus, recipe.tokens)
    parts = candidates.load(made / "candidates", corpus)
    pairs = PairTokenizer(load_tokenizer(recipe.encoder), recipe.pairs)
    read = set()
    for name, part in parts.items():
        wanted = pairs.queries(part.queries(corpus)).head(recipe.pairs.total)
        assert [found.queries[name][i].tolist() for i in range(len(part))] == [
            wanted[i].tolist() for i in range(len(part))
        ]
        read |= {*part.rows[part.rows != NO_ROW].tolist(), *part.cited.indices.tolist()}
    rows = np.array(sorted(read))
    papers = pairs.papers(corpus.papers.take("title", rows), corpus.papers.take("abstract", rows))
    assert [found.papers[row].tolist() for row in rows] == [papers[i].tolist() for i in range(len(rows))]
    assert 0 < len(read) < len(corpus)
    assert not found.papers.counts[[row for row in range(len(corpus)) if row not in read]].any()
    assert isinstance(found.papers.ids, np.memmap)
    # The size of the blocks changes nothing.
    (tmp_path / "candidates").symlink_to(made / "candidates")
    monkeypatch.setattr(pair_tokens, "BLOCK", 7)
    assert prepare(recipe.tokens, corpus, tmp_path / KIND)
    assert verify(tmp_path / KIND).digest == verify(made / KIND).digest


def test_where_candidates_are_drawn_from_the_corpus_all_papers_are_read(
    corpus: Corpus, recipe: CrossEncoderRecipe, made: Path, folder: Path
) -> None:
    mixed = small_recipe(recipe.encoder, objective={"random": 3})
    with pytest.raises(InputError, match="the tokens were made with other settings"):
        load(folder, corpus, mixed.tokens)
    assert prepare(mixed.tokens, corpus, folder / KIND)
    found, before = load(folder, corpus, mixed.tokens).papers, load(made, corpus, recipe.tokens).papers
    assert (found.counts > 0).all()
    read = before.counts > 0
    assert np.array_equal(found.counts[read], before.counts[read])


def test_they_are_made_once_and_again_for_other_candidates_or_another_tokenizer(
    corpus: Corpus, recipe: CrossEncoderRecipe, folder: Path, tmp_path: Path
) -> None:
    before = verify(folder / KIND, kind=KIND).digest
    assert not prepare(recipe.tokens, corpus, folder / KIND)
    other = small_recipe(tiny_bert(tmp_path / "bert", {"unlike"}))
    assert prepare(other.tokens, corpus, folder / KIND)
    assert prepare(recipe.tokens, corpus, folder / KIND)
    assert verify(folder / KIND).digest == before
    # Equal settings, and other candidates: such as those that another version of the retriever finds.
    parts = candidates.load(folder / "candidates", corpus)
    meta = {"corpus": corpus.version}
    save(folder / "candidates", parts | {"dev": parts["dev"].take(np.arange(5))}, meta)
    with pytest.raises(InputError, match="the tokens are of other candidates"):
        load(folder, corpus, recipe.tokens)
    assert prepare(recipe.tokens, corpus, folder / KIND)
    assert len(load(folder, corpus, recipe.tokens).queries["dev"]) == 5


def test_without_candidates_they_are_not_made(
    corpus: Corpus, recipe: CrossEncoderRecipe, tmp_path: Path
) -> None:
    with pytest.raises(NotFoundError, match="holds no candidates to train on"):
        prepare(recipe.tokens, corpus, tmp_path / KIND)
    with pytest.raises(NotFoundError, match="holds no tokens to train on"):
        load(tmp_path, corpus, recipe.tokens)


def test_settings_follow_the_recipe_and_the_tokenizer(
    recipe: CrossEncoderRecipe, encoder: Path, tmp_path: Path
) -> None:
    moved = Path(shutil.copytree(encoder, tmp_path / "moved"))
    assert small_recipe(moved).tokens.tokenizer == recipe.tokens.tokenizer
    other = small_recipe(encoder, pairs={"gap": "[GAP]"})
    assert other.tokens.tokenizer != recipe.tokens.tokenizer
    indexed = small_recipe(encoder, candidates={"index": "index"})
    assert indexed.tokens == recipe.tokens
    deeper = small_recipe(encoder, candidates={"depth": 21})
    assert deeper.tokens != recipe.tokens
    with pytest.raises(NotFoundError, match="no-such-encoder: is neither a folder here"):
        PairTokenSettings.of(recipe.candidates, "no-such-encoder", recipe.pairs)


def test_arrays_that_do_not_fit_the_corpus_are_refused(
    corpus: Corpus, recipe: CrossEncoderRecipe, folder: Path
) -> None:
    meta = dict(read_manifest(folder / KIND).meta)
    with TokenListWriter(folder / KIND, "papers", 9) as writer:
        writer.add(TokenLists.of([[]] * (len(corpus) + 1)))
    seal(folder / KIND, kind=KIND, meta=meta)
    with pytest.raises(IntegrityError, match="the arrays of papers do not fit the corpus"):
        load(folder, corpus, recipe.tokens)
