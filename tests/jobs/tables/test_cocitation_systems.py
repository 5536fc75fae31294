from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.tiny_bert import tiny_bert
from helpers.topic_corpus import HashEncoder

from cocite.artifacts import publish
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.evaluation import systems, tasks
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_jobs.tables import cocitation_systems
from cocite_jobs.tables.cocitation_systems import (
    ALL_BASELINES,
    CocitationSystems,
    ModelFolder,
    parse_baselines,
)


def test_names_and_labels_are_parsed(tmp_path: Path) -> None:
    assert parse_baselines("all") == ALL_BASELINES
    assert parse_baselines("none") == ()
    assert parse_baselines("w2v, bm25") == ("w2v", "bm25")
    assert ModelFolder.parse("folder=mpt-src") == ModelFolder(Path("folder"), "mpt-src")
    odd = tmp_path / "a=b"
    odd.mkdir()
    assert ModelFolder.parse(str(odd)) == ModelFolder(odd)


@pytest.fixture(scope="module")
def corpus(cited_together: Corpus) -> Corpus:
    return cited_together


def systems_of(corpus: Corpus, folder: Path, saved: Path | None = None) -> CocitationSystems:
    return CocitationSystems(corpus, tasks.history_before(corpus, "dev"), saved, folder / "cache", None)


def model(folder: Path, *names: str) -> Path:
    """A model folder of which only manifests are there."""
    for name in names:
        with publish(folder / name, kind=name, meta={}):
            pass
    return folder


def test_the_rows_of_model_folders_are_named_by_folder_label_and_system(
    corpus: Corpus, tmp_path: Path
) -> None:
    systems = systems_of(corpus, tmp_path)
    one = ModelFolder(model(tmp_path / "one", "hatten", "nnselect"))
    both = ModelFolder(model(tmp_path / "two", "hatten", "mp-bert4cr"), "mine")
    assert [row.name for row in systems.of_folders([one], None)] == ["nnselect", "hatten"]
    assert [row.name for row in systems.of_folders([both], None)] == ["mine"], "mp-bert4cr by default"
    rows = systems.of_folders([one, both], ["hatten", "first"])
    assert [row.name for row in rows] == ["one: hatten", "one: first", "mine: hatten", "mine: first"]
    assert [(row.kind, row.label) for row in rows[2:]] == [("hatten", "mine"), ("first", "mine")]
    with pytest.raises(InputError, match="two rows are called 'mine'"):
        systems.of_folders([both, both], None)
    with pytest.raises(InputError, match="holds no sentence .train it, or --train"):
        systems.of_folders([one], ["sentence"])


def test_an_encoder_is_required_when_it_is_named_and_left_out_of_all(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cocitation_systems, "ALL_BASELINES", ("bm25", "scibert"))
    systems = systems_of(corpus, tmp_path)
    assert [row.name for row in systems.baselines(("bm25", "scibert"))] == ["BM25 (context+title)"]
    assert systems.unreachable == ["allenai/scibert_scivocab_uncased (not reached)"]
    with pytest.raises(NotFoundError, match="HF_HUB_OFFLINE forbids to ask the hub"):
        systems.baselines(["scibert"])
    with pytest.raises(InputError, match="no baseline is called 'bm26'.*did you mean 'bm25'"):
        systems.baselines(["bm26"])


def test_a_baseline_that_is_named_twice_is_one_row(corpus: Corpus, tmp_path: Path) -> None:
    assert len(systems_of(corpus, tmp_path).baselines(["bm25", "w2v", "bm25"])) == 2


def test_encoders_of_one_folders_name_need_labels(corpus: Corpus, tmp_path: Path) -> None:
    first, second = (tiny_bert(tmp_path / f"a={i}" / "bert", ["parsing"], seed=i) for i in range(2))
    systems = systems_of(corpus, tmp_path)
    message = r"two rows are called 'bert \(local encoder\)' \(label them: ENCODER=LABEL"
    with pytest.raises(InputError, match=message):
        systems.baselines([str(first), str(second)])
    rows = systems.baselines([str(first), f"{second}=x=1"])
    assert [row.name for row in rows] == ["bert (local encoder)", "x=1"]
    queries = tasks.local(corpus, "test", sample=5).queries
    found = [row.open()(queries, 50).rows for row in rows]
    assert not np.array_equal(*found), "each has its own weights"


def test_bm25_ranks_alike_from_a_saved_index(corpus: Corpus, tmp_path: Path) -> None:
    IndexSnapshot.create(corpus, tmp_path / "index", before_split="dev")
    ShardedIndex.create(corpus, tmp_path / "shards", shards=3, before_split="dev")
    queries = tasks.local(corpus, "test", sample=20).queries
    rankings = [
        systems_of(corpus, tmp_path, saved).baselines(["bm25"])[0].open()(queries, 10)
        for saved in (None, tmp_path / "index", tmp_path / "shards")
    ]
    assert rankings[0].rows.tolist() == rankings[1].rows.tolist() == rankings[2].rows.tolist()


def test_systems_have_their_vectors_over_shards_too(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = HashEncoder()
    monkeypatch.setattr(systems, "encoders_for", lambda *_: [encoder])
    for number, kind in enumerate((IndexSnapshot, ShardedIndex)):
        options = {"shards": 3} if kind is ShardedIndex else {}
        kind.create(
            corpus, tmp_path / kind.__name__, before_split="dev", encoders=[encoder][:number], **options
        )
        made = systems_of(corpus, tmp_path, tmp_path / kind.__name__)
        vectors = made._with_vectors(tmp_path, "first").paper_vectors(encoder.name)
        rows = np.arange(len(corpus), dtype=np.int32)
        np.testing.assert_allclose(vectors[rows], encoder.encode_papers(corpus, rows), rtol=1e-6)
