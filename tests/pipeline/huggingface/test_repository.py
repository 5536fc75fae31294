"""Export and import: the same bytes come back, and whatever is wrong with a repository is named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.model_folders import add_blend
from helpers.published_models import add_cross_encoder, add_sentence_encoder
from helpers.untrained_encoders import untrained_encoders

from cocite.artifacts import publish, seal, verify
from cocite.corpus.starter import starter_corpus
from cocite.errors import CociteError, InputError, IntegrityError, NotFoundError
from cocite.manifests import read_manifest
from cocite.pipeline import components
from cocite.pipeline.golden_queries import make_golden_queries
from cocite.pipeline.huggingface import repository
from cocite.pipeline.huggingface.card import CardOptions
from cocite.pipeline.huggingface.repository import export_model, import_model
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot

OPTIONS = CardOptions("small")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with five parts and golden queries."""
    folder = tmp_path_factory.mktemp("published") / "model"
    corpus = starter_corpus()
    untrained_encoders(corpus, folder, hatten=True)
    add_sentence_encoder(folder)
    add_cross_encoder(folder, pooled=True)
    add_blend(folder, local={"weights": {"whole>text": 1.0}, "encoders": ["nnselect", "hatten", "sentence"]})
    return folder


@pytest.fixture(scope="module")
def exported(model: Path) -> Path:
    export_model(model, model.parent / "repository", OPTIONS)
    return model.parent / "repository"


@pytest.fixture
def copy(exported: Path, tmp_path: Path) -> Path:
    shutil.copytree(exported, tmp_path / "repository")
    return tmp_path / "repository"


def test_the_model_comes_back_byte_for_byte(model: Path, exported: Path, tmp_path: Path) -> None:
    names = import_model(exported, tmp_path / "again")
    assert names == ["nnselect", "hatten", "sentence", "blend", "cross-encoder"]
    assert contents(tmp_path / "again") == contents(model)
    assert components.version(tmp_path / "again") == components.version(model)
    for name in names:
        verify(tmp_path / "again" / name)
    # The parts of the folder that is made anew are the same repository.
    export_model(tmp_path / "again", tmp_path / "repository", OPTIONS)
    assert contents(tmp_path / "repository") == contents(exported)


def test_an_index_of_the_model_takes_the_imported_one(model: Path, exported: Path, tmp_path: Path) -> None:
    encoders = components.load_encoders(model)
    IndexSnapshot.create(starter_corpus(), tmp_path / "index", encoders=encoders)
    import_model(exported, tmp_path / "again")
    ranked = []
    for folder in (model, tmp_path / "again"):
        recommender = Recommender.load(folder, tmp_path / "index")
        query = recommender.query(context="Rare words are split into units [CIT].")
        ranked.append([(paper.id, paper.score) for paper in recommender.recommend(query)])
    assert ranked[0] == ranked[1]
    assert len(ranked[0]) > 1


def test_what_holds_texts_of_the_corpus_is_left_out(tmp_path: Path) -> None:
    IndexSnapshot.create(starter_corpus(), tmp_path / "index")
    add_blend(tmp_path / "model", local={"weights": {"whole>text": 1.0}})
    make_golden_queries(tmp_path / "model", tmp_path / "index", 2)
    made = export_model(tmp_path / "model", tmp_path / "out", OPTIONS)
    assert (made.forms, made.left_out) == ({"blend": "cocite"}, ["golden"])
    assert not (tmp_path / "out" / "golden").exists()


def test_one_part_alone(model: Path, tmp_path: Path) -> None:
    made = export_model(model / "cross-encoder", tmp_path / "out", OPTIONS)
    assert made.forms == {"cross-encoder": "sequence-classification"}
    assert json.loads((tmp_path / "out" / "config.json").read_text())["architectures"] == [
        "BertForSequenceClassification"
    ]
    assert import_model(tmp_path / "out", tmp_path / "model" / "cross-encoder") == ["cross-encoder"]
    assert contents(tmp_path / "model" / "cross-encoder") == contents(model / "cross-encoder")


def test_what_the_hub_and_its_users_change_is_not_read(copy: Path, tmp_path: Path) -> None:
    (copy / "README.md").write_text("Another card.")
    (copy / ".gitattributes").unlink()
    (copy / "LICENSE").write_text("Terms.")
    for name in (".git/HEAD", ".cache/huggingface/download/weights.bin"):
        (copy / name).parent.mkdir(parents=True)
        (copy / name).write_text("x")
    import_model(copy, tmp_path / "model")
    assert not (tmp_path / "model" / ".git").exists()


def test_a_download_of_links_is_copied(exported: Path, tmp_path: Path) -> None:
    """The hub's cache has links to files that are named by their content."""
    for path in exported.rglob("*"):
        if path.is_file():
            link = tmp_path / "snapshot" / path.relative_to(exported)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    import_model(tmp_path / "snapshot", tmp_path / "model")
    assert not any(path.is_symlink() for path in (tmp_path / "model").rglob("*"))


def test_paths_of_this_machine_are_reported(tmp_path: Path) -> None:
    part = add_sentence_encoder(tmp_path / "model")
    made = export_model(part, tmp_path / "out", OPTIONS)
    assert made.paths == [str(tmp_path / "model-bert-weights")]


def test_large_files_are_kept_by_lfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "LARGE", 2_000)
    part = add_sentence_encoder(tmp_path / "model")
    export_model(part, tmp_path / "out", OPTIONS)
    lines = (tmp_path / "out" / ".gitattributes").read_text().splitlines()
    assert lines[0] == "*.safetensors filter=lfs diff=lfs merge=lfs -text"
    assert [line.split()[0] for line in lines][-1] == "tokenizer.json"


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda to: damage(to / "cross-encoder/model.safetensors"),
            IntegrityError,
            "model.safetensors: damaged: its",
        ),
        (lambda to: damage(to / "sentence/modules.json"), IntegrityError, "sentence/modules.json: damaged"),
        (
            lambda to: damage(to / "hatten/cocite_manifest.json"),
            IntegrityError,
            "hatten/cocite_manifest.json: damaged",
        ),
        (
            lambda to: (to / "nnselect/config.json").unlink(),
            IntegrityError,
            "nnselect/config.json: the file is missing",
        ),
        (lambda to: shutil.rmtree(to / "hatten"), IntegrityError, "hatten/.*: the file is missing"),
        (
            lambda to: (to / "sentence/notes.txt").touch(),
            IntegrityError,
            "notes.txt: the manifest does not name",
        ),
        (
            lambda to: (to / "sentence/pytorch_model.bin").touch(),
            InputError,
            "pytorch_model.bin: is a pickle",
        ),
        (lambda to: (to / "weights.PT").touch(), InputError, "weights.PT: is a pickle"),
        (lambda to: (to / "manifest.json").unlink(), InputError, "holds no manifest.json, so cocite did not"),
        (
            lambda to: (to / "manifest.json").write_text("{}"),
            IntegrityError,
            "manifest.json: is not the manifest",
        ),
        (lambda to: shutil.rmtree(to), NotFoundError, "repository: no such folder"),
        (
            lambda to: (to / "hatten/model.safetensors").write_text(
                "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
            ),
            IntegrityError,
            r"hatten/model.safetensors: is a pointer of Git LFS, not the file \(git lfs pull",
        ),
    ],
)
def test_what_is_wrong_is_named(
    copy: Path, tmp_path: Path, change: Callable[[Path], Any], error: type[CociteError], message: str
) -> None:
    change(copy)
    with pytest.raises(error, match=message):
        import_model(copy, tmp_path / "model")
    assert not (tmp_path / "model").exists()
    assert list(tmp_path.glob(".model*")) == []


@pytest.mark.parametrize("name", ["manifest.json", "hatten/cocite_manifest.json"])
def test_a_manifest_that_would_take_all_memory(
    copy: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "LARGEST_MANIFEST", 100_000)
    with (copy / name).open("a") as file:
        file.write(" " * 100_000)
    with pytest.raises(InputError, match=rf"{name}: has more than 100,000 bytes, which no manifest has"):
        import_model(copy, tmp_path / "model")


def test_a_manifest_that_is_nested_too_deeply(copy: Path, tmp_path: Path) -> None:
    (copy / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(IntegrityError, match="manifest.json: not valid JSON"):
        import_model(copy, tmp_path / "model")


def test_files_in_folders_of_a_part(tmp_path: Path) -> None:
    with publish(tmp_path / "model" / "mp-bert4cr", kind="mp-bert4cr", meta={}) as folder:
        with publish(folder / "trunk" / "inner", kind="masked-lm", meta={}) as trunk:
            (trunk / "config.json").write_text("{}")
        (folder / "mp-bert4cr.json").write_text("{}")
    export_model(tmp_path / "model", tmp_path / "out", OPTIONS)
    assert import_model(tmp_path / "out", tmp_path / "again") == ["mp-bert4cr"]
    assert contents(tmp_path / "again") == contents(tmp_path / "model")


def sealed_anew(folder: Path, **meta: Any) -> None:
    """Give a repository a manifest that fits its files, as a stranger could."""
    old = read_manifest(folder)
    (folder / "manifest.json").unlink()
    seal(folder, kind=old.kind, meta=old.meta | meta)


def test_a_forged_manifest_does_not_give_another_model(copy: Path, tmp_path: Path) -> None:
    damage(copy / "cross-encoder/model.safetensors")
    sealed_anew(copy)
    with pytest.raises(
        IntegrityError, match="does not give back the part's model.safetensors, whose SHA-256"
    ):
        import_model(copy, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_manifest_that_says_other_things(copy: Path, tmp_path: Path) -> None:
    meta = read_manifest(copy).meta
    part = meta["parts"]["blend"]
    for parts, error, message in [
        ({"../x": part}, InputError, "names a part '../x', which this version of cocite does not know"),
        ({"blend": part | {"version": "0" * 16}}, IntegrityError, "is of version .*, not 0000000000000000"),
        ({"blend": part | {"form": "pickle"}}, InputError, "form: input should be 'sentence-transformers'"),
        ({}, InputError, "parts: "),
        ({"hatten": part, "fusion": part}, CociteError, "hatten|fusion"),
    ]:
        sealed_anew(copy, parts=parts)
        with pytest.raises(error, match=message):
            import_model(copy, tmp_path / "model")
    sealed_anew(copy, parts=meta["parts"], single=True)
    with pytest.raises(IntegrityError, match="says of several parts that they are in the top folder"):
        import_model(copy, tmp_path / "model")


def test_destinations_are_not_overwritten(model: Path, exported: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="model: already exists"):
        import_model(exported, model)
    (tmp_path / "empty").mkdir()
    import_model(exported, tmp_path / "empty")
    with pytest.raises(InputError, match="repository: already exists"):
        export_model(model, exported, OPTIONS)
    export_model(model / "blend", tmp_path / "out", OPTIONS)
    export_model(model, tmp_path / "out", OPTIONS, replace=True)
    assert contents(tmp_path / "out") == contents(exported)
    with pytest.raises(InputError, match="blend: is a blend, not an export, and is not replaced"):
        export_model(model, model / "blend", OPTIONS, replace=True)
    with pytest.raises(InputError, match="blend: is a blend, which holds only what its manifest.json names"):
        import_model(exported, model / "blend" / "inside")


def test_a_damaged_model_is_not_published(model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "model")
    damage(tmp_path / "model/nnselect/model.safetensors")
    with pytest.raises(IntegrityError, match="nnselect/model.safetensors: damaged: its SHA-256"):
        export_model(tmp_path / "model", tmp_path / "out", OPTIONS)
    (tmp_path / "model/nnselect/model.safetensors").unlink()
    with pytest.raises(IntegrityError, match="nnselect/model.safetensors: the file is missing"):
        export_model(tmp_path / "model", tmp_path / "out", OPTIONS)
    with publish(tmp_path / "pickled" / "hatten", kind="hatten", meta={}) as folder:
        (folder / "weights.pkl").write_text("x")
    with pytest.raises(InputError, match="hatten/weights.pkl: is a pickle or another file"):
        export_model(tmp_path / "pickled", tmp_path / "out", OPTIONS)
    assert not (tmp_path / "out").exists()


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "MOST_FILES", 3)
    for i in range(4):
        (tmp_path / f"{i}.txt").touch()
    with pytest.raises(InputError, match="holds more than 3 files"):
        import_model(tmp_path, tmp_path / "model")


def test_no_file_of_the_model_is_a_pickle(exported: Path) -> None:
    names = {path.suffix for path in exported.rglob("*") if path.is_file()}
    assert names <= {".json", ".safetensors", ".md", "", ".txt", ".npy", ".arrow"}
    for path in exported.rglob("*.npy"):
        np.load(path, allow_pickle=False)
    assert not any(os.path.islink(path) for path in exported.rglob("*"))
