"""Whether a model and an index snapshot fit, by their manifests."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.served_folders import index, model

from cocite.artifacts import publish
from cocite.corpus.starter import build_starter
from cocite.errors import InputError, IntegrityError
from cocite.pipeline import components
from cocite.pipeline.golden_answers import GoldenAnswer
from cocite.pipeline.golden_queries import GoldenQueries, GoldenQuery
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.index.versions import VersionedFolder
from cocite_mlflow.references import ModelVersion
from cocite_serve.release import LockedRelease, Release, ReleaseSource, Target
from cocite_serve.settings import ServeSettings

QUERY = GoldenQuery("golden-1", "a", "Parsing")


def test_the_vectors_must_be_those_of_the_models_encoder(tmp_path: Path) -> None:
    one, two = model(tmp_path / "one", nnselect="1"), model(tmp_path / "two", nnselect="2")
    folder = index(tmp_path / "index", one)
    Release(one, folder, "000001").check()
    with pytest.raises(InputError, match=f"another nnselect than the model's .*--to {folder} --model {two}"):
        Release(two, folder, "000001").check()
    Release(None, folder, "000001").check()


def test_an_encoder_that_works_is_not_lost(tmp_path: Path) -> None:
    plain, both = model(tmp_path / "a", nnselect="1"), model(tmp_path / "b", nnselect="1", hatten="2")
    folder = index(tmp_path / "index", plain)
    served, next_ = Release(plain, folder, "000001"), Release(both, folder, "000001")
    next_.check()  # who starts the endpoint so may have it so
    with pytest.raises(InputError, match="the index holds no vectors of hatten"):
        next_.check(served)
    next_.check(next_)
    index(folder, version="000002")
    with pytest.raises(InputError, match="the index holds no vectors of nnselect"):
        Release(plain, folder, "000002").check(served)


def test_the_newest_versions(tmp_path: Path) -> None:
    folder = index(tmp_path / "index")
    source = ReleaseSource(ServeSettings(index=folder))
    assert source.interval == 0
    assert source.newest() == Target(None, "000001")
    index(folder, version="000002")
    locked = source.lock(source.newest())
    assert locked.release == Release(None, folder.resolve(), "000002")
    assert locked.release.target == Target(None, "000002")
    named = ReleaseSource(ServeSettings(index=folder, index_version="000001", watch={"seconds": 5}))
    assert (named.newest().index, named.interval) == ("000001", 5)


def test_a_release_knows_into_how_many_shards_its_index_is_divided(tmp_path: Path) -> None:
    corpus = build_starter(tmp_path / "corpus")
    ShardedIndex.create(corpus, tmp_path / "index", shards=3)
    source = ReleaseSource(ServeSettings(index=tmp_path / "index"))
    assert source.lock(source.newest()).release.shards == 3
    IndexSnapshot.create(corpus, tmp_path / "index")
    assert source.lock(source.newest()).release.shards == 0


def test_what_is_damaged_is_not_locked(tmp_path: Path) -> None:
    one = model(tmp_path / "one", nnselect="1")
    folder = index(tmp_path / "index", one)
    source = ReleaseSource(ServeSettings(index=folder, model=one))
    assert source.lock(source.newest()).release.model == one.resolve()
    (one / "nnselect" / "model.safetensors").write_text("2")
    with pytest.raises(IntegrityError, match=r"nnselect/model\.safetensors: damaged"):
        source.lock(source.newest())
    manifest = folder / "versions" / "000001" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("nnselect", "nnselecu"))
    with pytest.raises(IntegrityError, match=r"000001/manifest\.json: damaged"):
        source.lock(source.newest())


@pytest.mark.parametrize(
    ("model_", "seconds"), [("models:/x@champion", 60), ("models:/x/3", 0), ("folder", 0)]
)
def test_an_alias_is_watched(tmp_path: Path, model_: str, seconds: float) -> None:
    assert ReleaseSource(ServeSettings(index=tmp_path, model=Path(model_))).interval == seconds


def test_the_text_of_a_release() -> None:
    release = Release(Path("m"), Path("i"), "000001", ModelVersion("citeomatic", 2, "champion"))
    assert str(release) == "citeomatic version 2 (@champion) over index 000001"
    assert str(Release(None, Path("i"), "000001")) == "no model over index 000001"


def test_an_index_that_knows_no_citation_has_a_warning(tmp_path: Path) -> None:
    corpus = build_starter(tmp_path / "corpus")
    first = int(corpus.years[corpus.years > 0].min())
    IndexSnapshot.create(corpus, tmp_path / "index", known_until=first)
    IndexSnapshot.create(corpus, tmp_path / "index")
    warning = Release(None, tmp_path / "index", "000001").cold_history_warning()
    assert "no paper whose links the index knows cites another one" in str(warning)
    assert "without --known-until and --before-split" in str(warning)
    assert Release(None, tmp_path / "index", "000002").cold_history_warning() is None


def test_a_locked_snapshot_is_deleted_once_it_is_unlocked(tmp_path: Path) -> None:
    corpus = build_starter(tmp_path / "corpus")
    IndexSnapshot.create(corpus, tmp_path / "index")
    source = ReleaseSource(ServeSettings(index=tmp_path / "index"))
    locked = source.lock(source.newest())
    assert isinstance(locked, LockedRelease)
    for id_ in corpus.ids(range(2)):
        IndexSnapshot.remove(tmp_path / "index", [id_])
    versions = VersionedFolder(tmp_path / "index")
    assert versions.names() == ["000001", "000002", "000003"]
    locked.unlock()
    assert versions.delete_old(1) == ["000001", "000002"]


def test_an_empty_index_is_refused(tmp_path: Path) -> None:
    with publish(tmp_path / "index" / "versions" / "000001", kind="index", meta={"papers": 0}):
        pass
    with pytest.raises(InputError, match="the index holds no paper"):
        Release(None, tmp_path / "index", "000001").check()


def test_encoders_without_vectors(tmp_path: Path) -> None:
    plain, both = model(tmp_path / "a", nnselect="1"), model(tmp_path / "b", nnselect="1", hatten="2")
    folder = index(tmp_path / "index", plain)
    assert Release(both, folder, "000001").encoders_without_vectors() == ["hatten"]
    assert Release(plain, folder, "000001").encoders_without_vectors() == []
    assert Release(None, folder, "000001").encoders_without_vectors() == []


def test_a_model_without_golden_queries_is_told_of(tmp_path: Path) -> None:
    one = model(tmp_path / "one", nnselect="1")
    folder = index(tmp_path / "index", one)
    assert Release(None, folder, "000001").golden_warning() is None
    warning = str(Release(one, folder, "000001").golden_warning())
    assert warning.startswith(f"{one}: keeps no golden queries of its own")
    assert f"cocite model golden MODEL --index {folder}" in warning
    GoldenQueries((QUERY,), {QUERY.id: GoldenAnswer(("a",), (1.0,))}, components.version(one)).save(one)
    assert Release(one, folder, "000001").golden_warning() is None
