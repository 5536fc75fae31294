"""The controls at toy size: trained once with each seed, measured, and their differences over papers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.command_line import call
from helpers.small_trunk import save_small_trunk
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.evaluation.hits import Hits
from cocite.systems.baselines.cached_vectors import EncoderBaseline
from cocite.systems.mp_bert4cr.encoder import load_mp_bert4cr_encoder
from cocite.systems.mp_bert4cr.trunk import SentenceTrunk
from cocite.text.token_lists import TokenLists
from cocite_jobs.tables import cocitation_controls
from cocite_jobs.tables.cocitation import known_history
from cocite_jobs.tables.cocitation_controls import CONTROLS, control_folder, train_controls
from cocite_jobs.tables.cocitation_systems import CocitationSystems, ModelFolder
from cocite_jobs.training.recipes import load_recipe

TINY = ["texts.sentence_tokens=24", "model.sentence_tokens=24", "model.hidden=24", "model.heads=2"]
TINY += [
    "model.inner=48",
    "training.precision=fp32",
    "training.batch=24",
    "training.steps=2",
    "dev_contexts=20",
]
TINY += ["workers.count=0"]
ROWS = ["hierarchy", "hierarchy, pretrained", "words only"]


@pytest.fixture(scope="module")
def model(cited_together: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder that has a trunk."""
    folder = tmp_path_factory.mktemp("model")
    papers = np.arange(len(cited_together))
    titles = [title or "" for title in cited_together.papers.take("title", papers)]
    save_small_trunk(folder / "masked-lm", titles)
    return folder


def report(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, model: Path, rows: list[str]
) -> dict[str, Any]:
    where = ["--corpus", corpus.path, "--model", model, "--cache", model / "cache", "--no-track", "--json"]
    chosen = ["--rows", ";".join(rows), "--seeds", "0,7", "--sample", 40]
    code, out, err = call(capsys, "evaluate", "controls", *where, *chosen, *TINY)
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_controls_are_trained_once_with_each_seed_and_measured(
    capsys: pytest.CaptureFixture[str], cited_together: Corpus, model: Path
) -> None:
    found = report(capsys, cited_together, model, ROWS)
    for part in (">= 1", ">= 2"):
        table = found["tables"][f"controls, positives {part}"]
        assert [row["control"] for row in table] == ROWS
        for row in table:
            assert row["R@10 low"] <= row["R@10"] <= row["R@10 high"]
            assert row["R@10 seeds"] >= 0
        assert table[0]["R@10 difference"] is None  # the first of its group
        assert table[2]["R@10 difference"] == pytest.approx(table[2]["R@10"] - table[0]["R@10"])
    frequencies = found["tables"]["controls, co-citation frequency"]
    assert [row["control"] for row in frequencies] == ROWS
    assert {"R@10 co-cited unseen", "MAP@10 co-cited 5+"} <= set(frequencies[0])
    assert len(found["tables"]["exported"]) == 6
    # Sentences and their vectors were made once for all.
    folders = sorted((model / "controls").iterdir())
    assert len(folders) == 6
    for name, count in (("sentence-texts", 6), ("sentence-vectors", 4)):  # words alone need no vectors
        files = [
            manifest.stat().st_ino for folder in folders for manifest in (folder / name).glob("manifest.json")
        ]
        assert (len(files), len(set(files))) == (count, 1), name
    seeds = [
        json.loads((model / f"controls/words-only-seed{seed}/mp-bert4cr/manifest.json").read_text())["meta"]
        for seed in (0, 7)
    ]
    assert [meta["recipe"]["training"]["seed"] for meta in seeds] == [0, 7]
    before = {path: path.stat().st_mtime_ns for path in model.rglob("manifest.json")}
    assert report(capsys, cited_together, model, ROWS)["tables"] == found["tables"]
    assert {path: path.stat().st_mtime_ns for path in model.rglob("manifest.json")} == before
    with pytest.raises(InputError, match="was trained with other settings"):
        train_controls(
            cited_together, model, rows=["words only"], seeds=[0], overrides=[*TINY, "bag_epochs=1"]
        )


def test_a_trunk_reads_each_sentence_once_for_all_models(
    cited_together: Corpus, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = train_controls(cited_together, model, rows=["hierarchy"], seeds=[0, 7], overrides=TINY)
    read: list[int] = []
    compute = SentenceTrunk._compute

    def counted(trunk: SentenceTrunk, sentences: TokenLists) -> NDArray[np.float32]:
        read.append(len(sentences))
        return compute(trunk, sentences)

    monkeypatch.setattr(SentenceTrunk, "_compute", counted)
    history = known_history(cited_together, "test", with_dev=False)
    systems = CocitationSystems(cited_together, history, None, model / "shared", None)
    rows = systems.of_folders([ModelFolder(folder) for folder in folders["hierarchy"]], None)
    task = tasks.local(cited_together, "test", sample=40, seed=0)
    lists = []
    for row in rows:
        lists.append(row.open()(task.queries, 10).rows)
        assert (sum(read) > 0) == (row is rows[0]), "only the first model's trunk has new sentences"
        read.clear()
    for folder, shared in zip(folders["hierarchy"], lists, strict=True):
        alone = load_mp_bert4cr_encoder(folder)
        papers = alone.encode_papers(cited_together, np.arange(len(cited_together), dtype=np.int32))
        found = EncoderBaseline("alone", alone, cited_together, papers).search(task.queries, 10).rows
        assert np.mean(found == shared) > 0.99  # a batch of other sentences is summed in another order


def test_a_pretraining_of_other_settings_is_refused(
    cited_together: Corpus, model: Path, tmp_path: Path
) -> None:
    save = tmp_path / "model"
    shutil.copytree(model / "masked-lm", save / "masked-lm")
    row = "hierarchy, pretrained"
    train_controls(cited_together, save, rows=[row], seeds=[0], overrides=TINY)
    # As after a stop between the two trainings.
    shutil.rmtree(control_folder(save, row, 0) / "mp-bert4cr")
    with pytest.raises(InputError, match="was trained with other settings"):
        train_controls(cited_together, save, rows=[row], seeds=[0], overrides=[*TINY, "training.steps=3"])


def test_rows_and_seeds_that_are_none_are_refused(cited_together: Corpus, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no control called 'word only'.*'words only'"):
        train_controls(cited_together, tmp_path, rows=["word only"])
    with pytest.raises(InputError, match="needs one seed or more, each once"):
        train_controls(cited_together, tmp_path, rows=["words only"], seeds=[1, 1])


def test_each_control_differs_from_its_groups_first_by_one_thing() -> None:
    recipes: dict[str, Any] = {
        name: load_recipe(control.recipe, control.overrides) for name, control in CONTROLS.items()
    }
    forms = {
        (recipes[name].objective.form, recipes[name].positives.count)
        for name, control in CONTROLS.items()
        if control.group == "loss"
    }
    assert forms == {(form, count) for form in ("hinge", "log-sum-exp") for count in (0, 3)}
    hierarchy = recipes["hierarchy"]
    assert hierarchy.bag_epochs == 0
    assert hierarchy.model.document_layers > 0
    for name, changed in (
        ("no hierarchy", {"model": {"document_layers": 0}}),
        ("words only", {"model": {"document_layers": 0, "reads": "words"}}),
        ("hierarchy of words", {"model": {"reads": "words"}}),
        ("trunk only", {"model": {"reads": "trunk"}}),
        ("fixed draw", {"contexts": {"fixed": True}}),
        ("no abstract", {"contexts": {"manuscript_abstract": 0}}),
    ):
        data = hierarchy.model_dump(mode="json")
        for section, values in changed.items():
            data[section] |= values
        assert recipes[name].model_dump(mode="json") == data, name
    gap = recipes["gap"].model_dump(mode="json")
    for name, section, key, value in (
        ("gap, not read", "contexts", "near", 0),
        ("gap, no hierarchy", "model", "document_layers", 0),
        ("gap, 3 positives", "positives", "count", 3),
        ("gap, all words", "model", "word_dropout", 0.0),
        ("gap, fixed draw", "contexts", "fixed", True),
        ("gap, no abstract", "contexts", "manuscript_abstract", 0),
    ):
        assert gap[section][key] != value
        assert recipes[name].model_dump(mode="json") == {**gap, section: {**gap[section], key: value}}, name
    pretraining = load_recipe("mp-bert4cr-hierarchy-pretraining")
    assert pretraining.sentence_vectors == hierarchy.sentence_vectors  # type: ignore[attr-defined]
    assert pretraining.texts == hierarchy.texts  # type: ignore[attr-defined]
    # Trainings of one group share the vectors of sentences, which cost most.
    assert {
        recipes[name].sentence_vectors.model_dump_json()
        for name, control in CONTROLS.items()
        if control.group == "hierarchy" and name not in ("words only", "hierarchy of words")
    } == {hierarchy.sentence_vectors.model_dump_json()}


def test_differences_are_of_the_same_queries_and_intervals_are_over_papers() -> None:
    """Three queries of two papers, with known ranks."""

    def hits(*ranks: int) -> Hits:
        return Hits(
            np.array([0, 1, 3, 4]),
            np.array([ranks[0], *ranks[1:]], np.int32),
            np.arange(4, dtype=np.int32),
            10,
        )

    good, bad = hits(1, 1, 2, 20), hits(20, 1, 20, 20)
    papers = np.array([5, 5, 9])
    table = cocitation_controls._table(
        ">= 1", {"hierarchy": [good, bad], "words only": [bad, bad]}, papers, CONTROLS
    )
    first, second = table.records()
    assert first["R@10"] == pytest.approx((2 / 3 + (0 + 1 / 2 + 0) / 3) / 2)
    assert first["R@10 seeds"] == pytest.approx(np.std([2 / 3, 1 / 6], ddof=1))
    assert second["R@10 difference"] == pytest.approx(1 / 6 - first["R@10"])
    assert second["R@10 difference low"] == pytest.approx(-0.375)  # the first paper drawn twice
    assert second["R@10 difference high"] == 0.0  # the second drawn twice
