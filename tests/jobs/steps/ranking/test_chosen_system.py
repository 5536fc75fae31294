"""A system by the names of what it is made of."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora
from helpers.untrained_encoders import untrained_encoders

from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.evaluation import systems
from cocite.pipeline.components import load_encoders
from cocite.protocols import Query
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.query_forms import QueryForm
from cocite_jobs.steps.ranking.chosen_system import PART_LINES, ChosenSystem, part_queries
from cocite_jobs.storage.transfer import fetch, uploaded


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(200, seed=3)


@pytest.fixture(scope="module")
def model(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_encoders(corpus, tmp_path_factory.mktemp("model"))


@pytest.fixture
def index(corpus: Corpus, model: Path, tmp_path: Path) -> Path:
    IndexSnapshot.create(corpus, tmp_path / "index", encoders=load_encoders(model))
    return tmp_path / "index"


def test_it_ranks_as_the_system_itself(index: Path, model: Path) -> None:
    query = [Query("q", title="neural parsing of sentences")]
    for name, chosen in (("nnselect", {}), ("bm25", {"form": QueryForm.TITLE_ABSTRACT})):
        system = ChosenSystem.over(index, name, model, **chosen)
        opened = system.open_index()
        found, wanted = (
            system.open(opened)(query, 10),
            systems.open_system(name, model, opened, **chosen)(query, 10),
        )
        assert np.array_equal(found.rows, wanted.rows)
        json.dumps(system.key)


def test_its_key_knows_model_and_index(corpus: Corpus, index: Path, model: Path, tmp_path: Path) -> None:
    system = ChosenSystem.over(index, "nnselect", model)
    assert system.key == ChosenSystem.over(index, "nnselect", model).key
    other = untrained_encoders(corpus, tmp_path / "other", seed=1)
    assert ChosenSystem.over(index, "nnselect", other).key["components"] != system.key["components"]
    assert ChosenSystem.over(index, "nnselect", model, candidates="older").key != system.key
    IndexSnapshot.create(corpus, index)
    assert ChosenSystem.over(index, "nnselect", model).key != system.key


def test_another_index_or_none_is_refused(index: Path) -> None:
    system = ChosenSystem.over(index, "bm25", None)
    with pytest.raises(InputError, match="sees another index here than the command"):
        replace(system, digest="another").open_index()
    with pytest.raises(NotFoundError, match="sees no such folder"):
        replace(system, index=str(index / "nowhere")).open_index()


def test_the_papers_of_an_index_are_read_without_what_is_searched(index: Path, corpus: Corpus) -> None:
    system = ChosenSystem.over(index, "bm25", None)
    version = index / "versions" / system.version
    for folder in version.iterdir():
        if folder.is_dir() and folder.name != "corpus":
            shutil.rmtree(folder)
    with system.opened_corpus(index) as opened:
        assert opened.version == corpus.version
    papers = version / "corpus" / "papers.arrow"
    content = papers.read_bytes()
    papers.unlink()  # other folders have links to the file
    papers.write_bytes(content[:-1])
    with pytest.raises(IntegrityError, match="papers.arrow"), system.opened_corpus(index):
        pass


def test_another_model_is_refused(corpus: Corpus, index: Path, model: Path, tmp_path: Path) -> None:
    other = untrained_encoders(corpus, tmp_path / "other", seed=1)
    system = replace(ChosenSystem.over(index, "nnselect", model), model=str(other))
    with pytest.raises(InputError, match="sees another model here than the command"):
        system.open(system.open_index())


def test_workers_elsewhere_get_the_uri_of_a_copy(remote: str, index: Path, model: Path) -> None:
    for folder, name in ((index, "index"), (model, "model")):
        with uploaded(f"{remote}/{name}") as path:
            shutil.copytree(folder, path, dirs_exist_ok=True)
    system = ChosenSystem.over(fetch(f"{remote}/index"), "nnselect", fetch(f"{remote}/model"))
    assert (system.index, system.model) == (f"{remote}/index", f"{remote}/model")
    there, here = system.open_index(), ChosenSystem.over(index, "nnselect", model)
    query = [Query("q", title="neural parsing of sentences")]
    found, wanted = system.open(there)(query, 10), here.open(here.open_index())(query, 10)
    assert np.array_equal(found.rows, wanted.rows)


@pytest.mark.parametrize(("k", "batch"), [(1, 64), (2000, 64), (2000, 7), (100_000, 64)])
def test_a_part_has_whole_batches_and_about_so_many_lines(k: int, batch: int) -> None:
    size = part_queries(k, batch)
    assert size % batch == 0
    assert size == batch or PART_LINES / 2 < size * k <= PART_LINES
