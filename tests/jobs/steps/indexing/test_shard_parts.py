"""A worker makes a part by its name, and refuses what it does not see as the driver does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.untrained_encoders import untrained_encoders

from cocite.corpus.starter import starter_corpus
from cocite.errors import InputError, NotFoundError
from cocite.manifests import read_manifest
from cocite_jobs.steps.indexing.shard_parts import ShardParts
from cocite_jobs.steps.parts import Part
from cocite_jobs.storage.location import Location


def test_a_worker_makes_a_part_or_says_what_it_does_not_see(tmp_path: Path) -> None:
    corpus = starter_corpus()
    model = untrained_encoders(corpus, tmp_path / "model")
    digest = read_manifest(model / "nnselect").digest
    files = Location.of(tmp_path / "parts")
    work = ShardParts(
        str(corpus.path),
        corpus.version,
        2,
        files,
        files,
        model=str(model),
        encoder_ids=(("nnselect", digest),),
        threads=2,
    )
    result = work.open()(Part("encode.nnselect.0001", 212))
    assert result["seconds"] > 0 < result["cpu_seconds"]
    assert (tmp_path / "parts" / "encoded" / "nnselect" / "0001" / "vectors.npy").is_file()
    with pytest.raises(InputError, match="sees another corpus here than the command"):
        replace(work, corpus_version="12ab").open()
    other = replace(work, encoder_ids=(("nnselect", "34cd"),))
    with pytest.raises(InputError, match="sees another nnselect here than the command"):
        other.open()(Part("encode.nnselect.0000", 211))
    with pytest.raises(NotFoundError, match="which makes a part, sees no such folder"):
        replace(work, corpus=str(tmp_path / "nothing")).open()
    with pytest.raises(NotFoundError, match="which makes a part, sees no such folder"):
        replace(work, model=str(tmp_path / "nothing")).open()(Part("encode.nnselect.0000", 211))


def test_the_key_is_of_what_the_parts_hold() -> None:
    files = Location.of("memory://parts")
    work = ShardParts("corpus", "12ab", 2, files, files)
    assert replace(work, corpus="/elsewhere/corpus", threads=4).key == work.key
    others = [
        replace(work, corpus_version="34cd"),
        replace(work, shards=3),
        replace(work, known_until=2010),
        replace(work, before_split="test"),
        replace(work, encoder_ids=(("nnselect", "1"),)),
        replace(work, bm25=(("text.k1", 2.0),)),
        replace(work, vector_kind="flat"),
    ]
    assert len({work.key, *(other.key for other in others)}) == 8
