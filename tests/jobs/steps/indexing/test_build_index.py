"""An index that workers build is that of one process, file by file, though workers and the driver are killed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.killed_driver import run_killed
from helpers.synthetic import SyntheticCorpora, shared_folder
from helpers.troubled_shard_parts import KILLED, DyingShardParts
from helpers.untrained_encoders import untrained_encoders

from cocite.corpus.store import Corpus
from cocite.errors import BusyError, InputError, NotFoundError
from cocite.pipeline.components import load_encoders
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import verify_index
from cocite.retrieval.index.versions import VersionedFolder
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.steps.embedding.embed import embed_corpus
from cocite_jobs.steps.indexing import build_index as module
from cocite_jobs.steps.indexing.build_index import Built, build_index
from cocite_jobs.steps.run_parts import Workers
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import output_lock
from cocite_jobs.storage.transfer import fetch

TESTS = Path(__file__).parents[3]
SHARDS = 3


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = shared_folder(tmp_path_factory.getbasetemp()) / "synthetic"
    return SyntheticCorpora(folder)(400, seed=3)


@pytest.fixture(scope="module")
def model(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_encoders(corpus, tmp_path_factory.mktemp("model"), hatten=True)


def built(corpus: Corpus, to: str | Path, model: Path | None = None, **options: Any) -> Built:
    options = {"workers": Workers(), "shards": SHARDS, "vector_kind": "ivfpq", **options}
    return build_index(corpus.path, to, encoders=load_encoders(model), model=model, **options)


def one_process(corpus: Corpus, to: Path, model: Path | None = None, **settings: Any) -> dict[str, bytes]:
    settings = {"shards": SHARDS, "vector_kind": "ivfpq", **settings}
    ShardedIndex.create(corpus, to, encoders=load_encoders(model), **settings).close()
    return version_files(to)


def version_files(root: Path) -> dict[str, bytes]:
    """Every file of the current version, the manifest without the time of its making."""
    folder = VersionedFolder(root).folder(VersionedFolder(root).current())
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    manifest = json.loads(found["manifest.json"])
    del manifest["meta"]["created"], manifest["sha256"]
    return found | {"manifest.json": json.dumps(manifest, sort_keys=True).encode()}


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def test_the_files_are_those_of_one_process(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    settings = {"known_until": 2015, "bm25": Bm25Fields.parse({}, overrides=["text.k1=2"])}
    expected = one_process(corpus, tmp_path / "one", model, **settings)
    told: list[int] = []
    made = built(corpus, tmp_path / "at" / "parts", model, advance=told.append, **settings)
    assert differing(version_files(tmp_path / "at" / "parts"), expected) == []
    assert made.version == "000001"
    assert made.meta["vectors"] == {"nnselect": "ivfpq", "hatten": "ivfpq"}
    assert sum(told) == 4 * len(corpus) + made.meta["contexts"]
    assert made.seconds > 0 < made.cpu_seconds
    assert os.listdir(tmp_path / "at") == ["parts"], "what the parts wrote is left"
    assert verify_index(tmp_path / "at" / "parts").meta == made.meta
    again = built(corpus, tmp_path / "at" / "parts", shards=2)
    assert (again.version, len(again.meta["shards"])) == ("000002", 2)


def test_stored_vectors_take_the_place_of_an_encoder(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    from cocite.retrieval.stored_vectors import open_stored_vectors

    expected = one_process(corpus, tmp_path / "one", model)
    embed_corpus(corpus.path, model, tmp_path / "vectors")
    encoders = open_stored_vectors(tmp_path / "vectors")
    options: dict[str, Any] = {"shards": SHARDS, "vector_kind": "ivfpq", "vectors_from": tmp_path / "vectors"}
    made = build_index(corpus.path, tmp_path / "parts", Workers(), encoders=encoders, **options)
    assert set(made.meta["encoder_ids"]) == {"nnselect", "hatten"}
    lexical = {name for name in expected if "vectors/" not in name and not name.endswith("manifest.json")}
    assert lexical.isdisjoint(differing(version_files(tmp_path / "parts"), expected))


def test_an_index_elsewhere_is_made_in_place(corpus: Corpus, tmp_path: Path, remote: str) -> None:
    Location.of(f"{remote}/corpus").put(corpus.path)
    expected = one_process(corpus, tmp_path / "one")
    for version in ("000001", "000002"):
        made = build_index(
            f"{remote}/corpus", f"{remote}/index", Workers(), shards=SHARDS, vector_kind="ivfpq"
        )
        assert made.version == version
        assert sorted(Location.of(remote).names()) == ["corpus", "index"]
    copy = fetch(f"{remote}/index")
    assert differing(version_files(copy), expected) == []
    assert verify_index(copy).meta == made.meta
    assert ShardedIndex.open(copy).version == "000002"
    Location.of(f"{remote}/other").write("thesis.tex", "")
    with pytest.raises(InputError, match="holds something that is not an index"):
        built(corpus, f"{remote}/other")


def test_the_number_of_a_version_elsewhere_is_taken_under_the_lock(
    corpus: Corpus, remote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another build ends just before this one has the lock."""

    @contextmanager
    def late(location: Location, name: str) -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(module, "output_lock", output_lock)
            assert built(corpus, f"{remote}/index", shards=2).version == "000001"
        with output_lock(location, name):
            yield

    monkeypatch.setattr(module, "output_lock", late)
    assert built(corpus, f"{remote}/index").version == "000002"
    versions = Location.of(f"{remote}/index/versions")
    assert [len((versions / name / "shards").names()) for name in versions.names()] == [2, SHARDS]


def test_what_was_made_before_an_interrupt_is_kept(corpus: Corpus, tmp_path: Path) -> None:
    told: list[int] = []

    def interrupt(texts: int) -> None:
        told.append(texts)
        if len(told) == SHARDS + 1:
            raise KeyboardInterrupt

    to = tmp_path / "index"
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        built(corpus, to, advance=interrupt)
    assert not (to / "CURRENT").exists()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / ".index.parts").rglob("*.numbers.npy")}
    assert len(before) == 2 * SHARDS + 1
    kept = {}

    def look(_: int) -> None:
        kept.update({path: path.stat().st_mtime_ns for path in before if path.exists()})

    built(corpus, to, advance=look)
    assert kept == before
    assert differing(version_files(to), one_process(corpus, tmp_path / "one")) == []


def test_parts_of_other_settings_are_made_again(corpus: Corpus, tmp_path: Path) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    to = tmp_path / "index"
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        built(corpus, to, advance=interrupt)
    built(corpus, to, shards=2)
    assert differing(version_files(to), one_process(corpus, tmp_path / "one", shards=2)) == []


def test_bad_inputs_are_refused_before_anything_is_written(
    corpus: Corpus, model: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="has two shards or more .give more"):
        built(corpus, tmp_path / "index", shards=1)
    with pytest.raises(InputError, match="401 shards are more than the 400 papers"):
        built(corpus, tmp_path / "index", shards=401)
    with pytest.raises(InputError, match="unknown kind of vector index 'ivfqp'"):
        built(corpus, tmp_path / "index", vector_kind="ivfqp")
    with pytest.raises(NotFoundError, match="no such folder"):
        build_index(tmp_path / "none", tmp_path / "index", Workers(), shards=2)
    assert not list(tmp_path.iterdir())
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").touch()
    with pytest.raises(InputError, match="holds something that is not an index"):
        built(corpus, tmp_path / "thesis")
    with (
        VersionedFolder(tmp_path / "index").writing(),
        pytest.raises(BusyError, match="is at work here"),
    ):
        built(corpus, tmp_path / "index", model)


DRIVER = """
import sys
from pathlib import Path
from helpers.troubled_shard_parts import HeldShardParts
from cocite.pipeline.components import load_encoders
from cocite_jobs.steps.indexing import build_index as module
from cocite_jobs.steps.run_parts import Workers
module.ShardParts = HeldShardParts
corpus, model, to = sys.argv[1:]
workers = Workers(on="ray", address="local", count=1)
encoders = load_encoders(Path(model))
module.build_index(corpus, to, workers, shards=3, encoders=encoders, model=model, vector_kind="ivfpq")
"""


@pytest.mark.integration
def test_on_ray_with_a_killed_driver_and_killed_workers(
    corpus: Corpus, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = one_process(corpus, tmp_path / "one", model)
    to = tmp_path / "at" / "index"
    finished = to.parent / ".index.parts" / "finished"
    run_killed(DRIVER, corpus.path, model, to, recorded=finished / "*.json", count=4)
    kept = {path.name for path in finished.glob("*.json")}
    assert len(kept) >= 4
    assert not (to / "CURRENT").exists()

    monkeypatch.setenv("PYTHONPATH", str(TESTS))  # the workers read the helper that kills them
    monkeypatch.setattr(module, "ShardParts", DyingShardParts)
    told: list[int] = []
    with ray_connection("local"):
        built(corpus, to, model, workers=Workers(on="ray", count=2), advance=told.append)
    assert told[0] > 0, "the parts that the first driver made were made again"
    steps = {path.name: int(path.read_text()) for path in to.parent.glob("died-*")}
    assert steps.keys() == {f"died-{step}" for step in KILLED}
    assert os.getpid() not in steps.values()
    assert differing(version_files(to), expected) == []
    assert not (to.parent / ".index.parts").exists()


@pytest.mark.integration
@pytest.mark.thorough
def test_workers_of_ray_share_a_store_and_no_folder(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    """The scheme makes a remote file system of this machine's files, which other processes see, too."""
    store = f"local://{tmp_path}/store"
    Location.of(f"{store}/corpus").put(corpus.path)
    expected = one_process(corpus, tmp_path / "one", model)
    with ray_connection("local"):
        build_index(
            f"{store}/corpus",
            f"{store}/index",
            Workers(on="ray", count=2),
            shards=SHARDS,
            encoders=load_encoders(model),
            model=model,
            vector_kind="ivfpq",
        )
    assert differing(version_files(fetch(f"{store}/index")), expected) == []
