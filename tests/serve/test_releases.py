"""Whether a model and an index snapshot fit, by what they say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.served_folders import index, model

from cocite.corpus.starter import build_starter
from cocite.errors import InputError, IntegrityError
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_mlflow.references import ModelVersion
from cocite_serve.releases import Release, Source, Target
from cocite_serve.settings import ServeSettings


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


def test_what_is_looked_for(tmp_path: Path) -> None:
    folder = index(tmp_path / "index")
    source = Source(ServeSettings(index=folder))
    assert source.interval == 0
    assert source.look() == Target(None, "000001")
    index(folder, version="000002")
    held = source.take(source.look())
    assert held.release == Release(None, folder.resolve(), "000002")
    assert held.release.target == Target(None, "000002")
    named = Source(ServeSettings(index=folder, index_version="000001", watch={"seconds": 5}))
    assert (named.look().index, named.interval) == ("000001", 5)


def test_what_is_damaged_is_not_taken(tmp_path: Path) -> None:
    one = model(tmp_path / "one", nnselect="1")
    folder = index(tmp_path / "index", one)
    source = Source(ServeSettings(index=folder, model=one))
    assert source.take(source.look()).release.model == one.resolve()
    (one / "nnselect" / "model.safetensors").write_text("2")
    with pytest.raises(IntegrityError, match=r"nnselect/model\.safetensors: damaged"):
        source.take(source.look())
    manifest = folder / "versions" / "000001" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("nnselect", "nnselecu"))
    with pytest.raises(IntegrityError, match=r"000001/manifest\.json: damaged"):
        source.take(source.look())


@pytest.mark.parametrize(
    ("model_", "seconds"), [("models:/x@champion", 60), ("models:/x/3", 0), ("folder", 0)]
)
def test_an_alias_is_watched(tmp_path: Path, model_: str, seconds: float) -> None:
    assert Source(ServeSettings(index=tmp_path, model=Path(model_))).interval == seconds


def test_a_release_in_words() -> None:
    release = Release(Path("m"), Path("i"), "000001", ModelVersion("citeomatic", 2, "champion"))
    assert str(release) == "citeomatic version 2 (@champion) over index 000001"
    assert str(Release(None, Path("i"), "000001")) == "no model over index 000001"


def test_an_index_that_knows_no_citation_is_told(tmp_path: Path) -> None:
    corpus = build_starter(tmp_path / "corpus")
    first = int(corpus.years[corpus.years > 0].min())
    IndexSnapshot.create(corpus, tmp_path / "index", known_until=first)
    IndexSnapshot.create(corpus, tmp_path / "index")
    cold = Release(None, tmp_path / "index", "000001").cold()
    assert "no paper whose links the index knows cites another one" in str(cold)
    assert "without --known-until and --before-split" in str(cold)
    assert Release(None, tmp_path / "index", "000002").cold() is None
