"""The components of a model folder: which are listed, used and left out, and what no longer fits beside a fusion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.model_folders import add_blend, add_fusion

from cocite.artifacts import publish, seal
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.second_stage import SecondStage
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.index.index import Index
from cocite.systems.citeomatic.nnselect.encoder import load_encoder


def add(model: Path, name: str, *, files: tuple[str, ...] = ("weights",), **left_out: str) -> None:
    """Write an artifact that is none but for its manifest."""
    meta: dict[str, Any] = {"left_out": left_out} if left_out else {}
    with publish(model / name, kind=name, meta=meta) as folder:
        for file in files:
            (folder / file).write_text(name)


def add_fusion_files(model: Path, name: str, *kinds: str, **left_out: str) -> None:
    add(model, name, files=tuple(f"{kind}.txt" for kind in kinds), **left_out)


def test_components_are_listed_in_the_order_in_which_they_work(tmp_path: Path) -> None:
    for name in ("final", "nnselect", "fusion", "sentence"):
        add(tmp_path, name)
    add(tmp_path, "candidates")
    assert components.list_components(tmp_path) == ["nnselect", "sentence", "fusion", "final"]


def test_a_folder_without_components_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such model folder"):
        components.list_components(tmp_path / "none")
    with pytest.raises(NotFoundError, match="holds none of nnselect, hatten"):
        components.list_components(tmp_path)


def test_a_component_orders_the_kinds_that_it_is_not_excluded_for(tmp_path: Path) -> None:
    add(tmp_path, "nnrank", local="below the first stage")
    add(tmp_path, "cross-encoder")
    add_fusion_files(tmp_path, "fusion", "local", "global", **{"global": "below nnrank"})
    add_fusion_files(tmp_path, "final", "global", **{"global": "below the fusion"})
    assert components.excluded_kinds(tmp_path, "nnrank") == {"local": "below the first stage"}
    assert components.excluded_kinds(tmp_path, "hatten") == {}
    assert components.ordered_kinds(tmp_path, "nnrank") == ["global"]
    assert components.ordered_kinds(tmp_path, "fusion") == ["local"]
    assert components.ordered_kinds(tmp_path, "final") == []
    # Where the final fusion was below the order before it, the cross-encoder does not change that order either.
    assert components.ordered_kinds(tmp_path, "cross-encoder") == ["local"]
    assert components.ordered_kinds(tmp_path, "blend") == []
    assert components.active_components(tmp_path) == ["nnrank", "fusion", "cross-encoder"]


def test_an_nnrank_excluded_for_all_is_used_nowhere(tmp_path: Path) -> None:
    add(tmp_path, "nnselect")
    add(tmp_path, "nnrank", all="below nnselect")
    assert components.ordered_kinds(tmp_path, "nnrank") == []
    assert components.active_components(tmp_path) == ["nnselect"]
    assert components.exclusion_notes(tmp_path) == ["below nnselect"]


def test_notes_are_of_what_no_fusion_orders_in_any_case_and_none_twice(tmp_path: Path) -> None:
    add(tmp_path, "nnrank", local="nnrank is below", **{"global": "nnrank is below, too"})
    add_fusion_files(tmp_path, "fusion", "local", "global", **{"global": "fusion is below"})
    add(tmp_path, "cross-encoder", local="cross is below", **{"global": "cross is below"})
    assert components.exclusion_notes(tmp_path) == [
        "nnrank is below, too",
        "fusion is below",
        "cross is below",
    ]
    assert components.exclusion_notes(None) == []


def test_the_version_is_of_all_components_and_of_nothing_else(tmp_path: Path) -> None:
    add(tmp_path, "nnselect")
    first = components.version(tmp_path)
    assert len(first) == 16
    add(tmp_path, "candidates")
    assert components.version(tmp_path) == first
    add(tmp_path, "sentence")
    assert components.version(tmp_path) != first
    assert components.version(None) == ""


def test_verifying_names_the_damaged_file(tmp_path: Path) -> None:
    add(tmp_path, "nnselect")
    add(tmp_path, "sentence")
    components.verify(tmp_path)
    (tmp_path / "sentence" / "weights").write_text("sentences")
    with pytest.raises(IntegrityError, match=r"sentence/weights: damaged"):
        components.verify(tmp_path)


def test_what_is_not_there_is_none(tmp_path: Path, first: FirstStage) -> None:
    add(tmp_path, "nnrank", all="below nnselect")
    assert components.load_encoder(tmp_path, "hatten") is None
    assert components.load_encoders(None) == components.load_encoders(tmp_path) == []
    assert components.load_blend(None, []) is None
    assert components.load_nnrank(tmp_path, first.index) is None
    assert components.load_cross_encoder(tmp_path, first.index) is None
    assert components.load_fusions(tmp_path, first.index, "fusion") == {}


def test_objects_are_imported_by_name() -> None:
    assert components.import_object(components.ENCODERS["nnselect"]) is load_encoder


def test_a_blend_is_refused_beside_an_encoder_that_it_was_tuned_without(tmp_path: Path) -> None:
    model = add_blend(tmp_path)
    assert components.load_blend(model, ["hatten"]) is not None
    assert components.load_blend(model, []) is not None
    with pytest.raises(InputError, match="for local queries were found without nnselect, which is there now"):
        components.load_blend(model, ["hatten", "nnselect"])


def test_a_fusion_is_refused_with_a_blend_that_it_was_not_trained_with(
    tmp_path: Path, corpus: Corpus, first: FirstStage, later: list[int]
) -> None:
    plain, tuned = tmp_path / "plain", tmp_path / "tuned"
    plain.mkdir()
    add_fusion(plain, first, corpus, later)
    version = components.version(plain)
    assert "blend" not in components.upstream_fingerprints(plain, first.index, "fusion")
    SecondStage.load(plain, first.index)
    add_blend(plain)
    assert components.version(plain) != version
    with pytest.raises(InputError, match="trained without blend, which is there now.*train fusion again"):
        SecondStage.load(plain, first.index)
    add_fusion(add_blend(tuned), FirstStage.load(tuned, first.index), corpus, later)
    SecondStage.load(tuned, first.index)
    add_blend(tuned, **{"local": {"weights": {"whole>text": 1}}})
    with pytest.raises(InputError, match="trained with another blend"):
        SecondStage.load(tuned, first.index)
    # One that an earlier version of cocite trained says nothing of what it was trained with.
    seal(plain / "fusion", kind="learned-fusion", meta={})
    with pytest.raises(InputError, match="trained without blend"):
        SecondStage.load(plain, first.index)


def test_a_fusion_is_refused_over_an_index_of_another_k1(
    tmp_path: Path, corpus: Corpus, first: FirstStage, later: list[int]
) -> None:
    add_fusion(tmp_path, first, corpus, later)
    other = Bm25Fields.from_options(["text.k1=2"], option="--bm25")
    index = Index.build(corpus, History.until(corpus, first.signals.year), bm25=other)
    with pytest.raises(InputError, match=r"has the usual k1 and b, and this one has text\.k1=2\.0"):
        SecondStage.load(tmp_path, index)
    add_fusion(tmp_path / "other", FirstStage(index), corpus, later)
    SecondStage.load(tmp_path / "other", index)
    with pytest.raises(InputError, match=r"has text\.k1=2\.0, and this one has the usual ones"):
        SecondStage.load(tmp_path / "other", first.index)
