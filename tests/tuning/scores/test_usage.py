"""What a study without training found is used by the commands that the sweep tells, and ranks as its trial did."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from helpers.command_line import call

from cocite.cli import root
from cocite.config import with_overrides
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation.hits import UNRANKED, Hits
from cocite.evaluation.metrics import means
from cocite.manifests import read_manifest
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.weights import LOCAL_WEIGHTS
from cocite.protocols import NO_ROW, Query, Ranking
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_jobs.training.recipes import load_recipe
from cocite_serve.settings import ServeSettings
from cocite_tuning.run.result import Outcome
from cocite_tuning.studies.score_study import DevQueries, ScoreStudy
from cocite_tuning.studies.settings import (
    Bm25StudySettings,
    DepthsStudySettings,
    FusionStudySettings,
    NeighboursStudySettings,
    TrainingStudySettings,
    TreesStudySettings,
)
from cocite_tuning.studies.usage import Locations, setting


def swept(capsys: pytest.CaptureFixture[str], store: Path, **sweep: Any) -> dict[str, Any]:
    """Run a sweep by its command, in the present folder."""
    Path("sweep.yaml").write_text(json.dumps({"name": "found", "start": [], **sweep}))
    line = ("tune", "sweep.yaml", "--corpus", store, "--to", "found", "--no-track", "--json")
    code, out, err = call(capsys, *line)
    assert code == 0, err
    return json.loads(out)  # type: ignore[no-any-return]


def run(capsys: pytest.CaptureFixture[str], line: str, *more: str) -> None:
    """Run a command that a sweep tells: cocite's own in this process."""
    words = [*shlex.split(line), *more]
    if words[0] != "cocite":
        subprocess.run(words, check=True)
        return
    code, _, err = call(capsys, *words[1:])
    assert code == 0, err


def parsed(line: str) -> dict[str, Any]:
    """What the command line makes of a command, which is not run; what it names in settings is looked at too."""
    words, group = shlex.split(line), root
    assert words.pop(0) == "cocite"
    context = click.Context(group)
    while hasattr(group, "resolve_command"):
        _, group, words = group.resolve_command(context, words)  # type: ignore[assignment]
    values = group.make_context("cocite", words).params
    if group.name == "serve":
        data = {"index": values["index"], "model": values["model"]}
        values["settings"] = ServeSettings.parse(with_overrides(data, values["settings"] or []))
    if group.name == "train":
        values["recipe"] = load_recipe(values["recipe"], values["overrides"] or [])
    return values


def same_ranks(study: ScoreStudy[Any], params: dict[str, Any], ranking: Ranking, dev: DevQueries) -> float:
    """Share of cited papers that stand where the study said, to a rank of 100."""
    hits = Hits.of(ranking, dev.task.relevant)
    first = np.arange(len(dev.task)) < study.tuning
    shares = []
    for ours, theirs in (
        (study.hits(params), hits.queries(first)),
        (study.hits(params, held_out=True), hits.queries(~first)),
    ):
        a, b = (np.where(each.ranks <= 100, each.ranks, UNRANKED) for each in (ours, theirs))
        shares.append(float((a == b).mean()))
    return min(shares)


def lines_of(queries: Sequence[Query], corpus: Corpus) -> str:
    """The queries as a file for ``cocite rank``."""
    fields = ("id", "context", "title", "abstract", "year")
    return "".join(
        json.dumps({name: getattr(query, name) for name in fields} | {"paper": corpus.paper(query.paper).id})
        + "\n"
        for query in queries
    )


def read_run(path: Path, queries: Sequence[Query], corpus: Corpus, k: int) -> Ranking:
    """A TREC run as a ranking."""
    place = {query.id: i for i, query in enumerate(queries)}
    rows = np.full((len(queries), k), NO_ROW, np.int32)
    scores = np.full((len(queries), k), -np.inf, np.float32)
    for line in path.read_text().splitlines():
        query, _, paper, rank, score, _ = line.split()
        rows[place[query], int(rank) - 1] = corpus.row(paper)
        scores[place[query], int(rank) - 1] = float(score)
    return Ranking(rows, scores)


def test_bm25_is_used_by_an_index_of_its_own(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"kind": "bm25", "queries": 80, "pool": 100, "fields": ["text"]}
    space = {"k1": {"uniform": [2, 4]}, "b": {"uniform": [0, 0.4]}, "form": {"choice": ["context"]}}
    told = swept(capsys, store, study=settings, space=space, metric={"name": "MRR"}, budget={"trials": 3})
    params, commands = told["best"]["params"], told["use"]["commands"]
    assert len(commands) == 2
    study = Bm25StudySettings.parse(settings).open(store, Path("found/shared"))
    dev = DevQueries(study.settings, store)
    Path("queries.jsonl").write_text(lines_of(dev.task.queries, dev.corpus))
    run(capsys, commands[0])
    assert IndexSnapshot.open("index").bm25.changed() == {"text.k1": params["k1"], "text.b": params["b"]}
    run(capsys, commands[1], "--k", "300")
    ranking = read_run(Path("run.trec"), dev.task.queries, dev.corpus, 300)
    # A sum in another order may turn two papers of equal score around.
    assert same_ranks(study, params, ranking, dev) > 0.98
    assert same_ranks(study, {"form": "context"}, ranking, dev) < 0.9, "the usual k1 and b rank otherwise"
    # What it is worth was told beside it.
    outcome = Outcome.read(Path("found"))
    assert outcome is not None
    assert outcome.confirmation is not None
    assert outcome.confirmation == study.confirm(params, "MRR")
    assert told["confirmation"]["queries"] == len(study.cited) - study.tuning
    run(capsys, "cocite tune report found")
    page = Path("found/report.html").read_text()
    assert f"On {outcome.confirmation.queries} queries that no trial saw: MRR" in page
    assert "cocite index build" in page


def test_where_the_default_is_the_best_there_is_nothing_to_use(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"kind": "fusion", "queries": 30, "pool": 100, "signals": ["whole>text", "sentences"]}
    told = swept(
        *(capsys, store),
        study=settings,
        start=[{}],
        space={"weights": {"sentences": {"uniform": [0, 1]}}},
        metric={"name": "MRR"},
        budget={"trials": 1},
    )
    assert told["use"]["commands"] == []
    assert "there is nothing to change" in told["use"]["notes"][0]
    assert told["confirmation"] is None
    assert not Path("found/best").exists()


def test_a_blend_is_used_in_its_model_folder(
    store: Path,
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(model, "mine")
    settings = {"kind": "fusion", "queries": 60, "pool": 100, "model": "mine"}
    space = {"weights": {"sentences": {"uniform": [0, 0.1]}, "whole>text": {"uniform": [2, 3]}}}
    told = swept(capsys, store, study=settings, space=space, metric={"name": "MRR"}, budget={"trials": 2})
    params, commands = told["best"]["params"], told["use"]["commands"]
    copy, *again, serve = commands
    study = FusionStudySettings.parse(settings).open(store, Path("found/shared"))
    dev = DevQueries(study.settings, store)
    assert set(read_manifest(Path("found/best/blend")).files) == {"weights.json"}
    figures = study.run(params, lambda *_: None, tmp_path)
    tuned = study.hits(params)
    run(capsys, copy)
    stage = FirstStage.load(Path("mine"), dev.index)
    ranking = stage.search(dev.task.queries, 300)
    hits = Hits.of(ranking, dev.task.relevant).queries(np.arange(len(dev.task)) < len(tuned.indptr) - 1)
    assert means(hits, ("MRR",))["MRR"] == pytest.approx(figures["MRR"], abs=1e-3)
    assert told["best"]["metrics"]["MRR"] == pytest.approx(figures["MRR"])
    same = np.where(tuned.ranks <= 100, tuned.ranks, 0) == np.where(hits.ranks <= 100, hits.ranks, 0)
    assert same.mean() > 0.98
    # The fusion was trained on other candidates: it is refused, and trained again by the command that is told.
    with pytest.raises(InputError, match="trained without blend, which is there now"):
        SecondStage.load(Path("mine"), dev.index)
    assert len(again) == 1
    recipe = read_manifest(Path("mine/fusion")).meta["recipe"]
    run(capsys, again[0], "--no-track")
    assert read_manifest(Path("mine/fusion")).meta["recipe"] == recipe
    SecondStage.load(Path("mine"), dev.index)
    assert parsed(serve)["settings"].model is not None
    # The next sweep with this folder begins where it is now.
    later = FusionStudySettings.parse(settings).open(store, tmp_path / "later")
    assert later.defaults == study.defaults | {k.removeprefix("weights."): v for k, v in params.items()}


def test_a_blend_that_needs_no_model_is_a_model_folder(store: Path, tmp_path: Path) -> None:
    study = FusionStudySettings(queries=40, pool=100).open(store, tmp_path / "shared")
    params = {"weights.sentences": 3.0}
    study.leave(params, tmp_path / "best")
    usage = study.usage(params, Locations(str(store), tmp_path, tmp_path / "best"))
    [serve] = usage.commands
    assert str(parsed(serve)["settings"].model) == str(tmp_path / "best")
    dev = DevQueries(study.settings, store)
    stage = FirstStage.load(tmp_path / "best", dev.index)
    assert stage.weights["local"] == {
        name: params.get(f"weights.{name}", LOCAL_WEIGHTS[name]) for name in study.names
    }


def told_by(study: Any, params: dict[str, Any], store: Path, tmp_path: Path) -> tuple[list[Any], str]:
    """What the command line makes of the commands of a study, and its notes."""
    usage = study.usage(params, Locations(str(store), tmp_path, tmp_path / "best"))
    return [parsed(line) for line in usage.commands if line.startswith("cocite ")], " ".join(usage.notes)


def test_every_command_is_one_that_there_is(store: Path, model: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    depths = DepthsStudySettings(model=model, depths=(5, 20), reranks=(0, 4)).open(store, shared)
    [serve], notes = told_by(depths, {"depth": 20, "rerank": 4, "cross_weight": 0.25}, store, tmp_path)
    told = serve["settings"]
    assert (told.depth, told.rerank, told.cross_weight) == (20, 4, 0.25)
    without = DepthsStudySettings(model=model, without=("cross-encoder",)).open(store, shared)
    [serve], notes = told_by(without, {"depth": 20}, store, tmp_path)
    assert (serve["settings"].depth, serve["settings"].rerank, notes) == (
        20,
        0,
        "index stands for your index folder of this corpus.",
    )
    neighbours = NeighboursStudySettings(model=model).open(store, shared)
    lines, notes = told_by(neighbours, {"neighbours": 20, "nnrank": False}, store, tmp_path)
    assert lines == []
    assert "CiteomaticRanker(index, encoder, None, neighbours=20, expansion=True)" in notes
    bm25 = Bm25StudySettings(model=model).open(store, shared)
    [build, again], notes = told_by(bm25, {"k1": 2.0, "field": "title"}, store, tmp_path)
    assert build["bm25"] == ["title.k1=2.0"]
    assert (again["recipe"].reserve, str(again["recipe"].index)) == (0.6, "index")
    assert "No command ranks by the title alone" in notes
    for known in ({"known_until": 2016}, {"before_split": "test"}):
        IndexSnapshot.create(Corpus.open(store), tmp_path / "index", **known)
        tuned = Bm25StudySettings(index=tmp_path / "index").open(store, shared)
        [build, _], _ = told_by(tuned, {"k1": 2.0}, store, tmp_path)
        assert {name: build[name] for name in ("known_until", "before_split") if build[name]} == known


def test_trees_and_trainings_are_told_as_recipes(store: Path, model: Path, tmp_path: Path) -> None:
    trees = TreesStudySettings(model=model, depth=40).open(store, tmp_path / "shared")
    [line], _ = told_by(trees, {"trees": 400, "l2": 1e-05}, store, tmp_path)
    recipe = line["recipe"]
    assert (recipe.trees.trees, recipe.trees.l2, recipe.trees.leaves) == (400, 1e-05, 7)
    assert (recipe.reserve, recipe.local_depth, recipe.queries) == (0.6, 40, 60)
    assert line["to"] == str(model)
    settings = {"recipe": "nnselect", "set": {"training.epochs": 3}}
    training = TrainingStudySettings.parse(settings).open(store, tmp_path / "none")
    [line], _ = told_by(training, {"training.optimizer.learning_rate": 1e-05}, store, tmp_path)
    assert line["recipe"] == training.recipe({"training.optimizer.learning_rate": 1e-05})
    settings = {"recipe": "hatten", "set": {"training.steps": 7}}
    neural = TrainingStudySettings.parse(settings).open(store, tmp_path / "none")
    shutil.copytree(model / "nnselect", tmp_path / "best" / "nnselect")
    (build, serve, train), _ = told_by(neural, {"objective.margin": 0.25}, store, tmp_path)
    assert train["recipe"] == neural.recipe({"objective.margin": 0.25})
    assert str(build["model"]) == str(serve["settings"].model) == str(tmp_path / "best")


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-05, "1.0e-05"), (None, "null"), (True, "true"), ("context+title", "context+title"), ("1", "'1'"),
     ([1, [2.5, "a"]], "[1, [2.5, a]]"), ("x" * 200 + " y", "x" * 200 + " y")],
)  # fmt: skip
def test_a_setting_is_read_as_it_was(value: Any, text: str) -> None:
    assert setting("a.b", value) == f"a.b={text}"
    assert with_overrides({}, [setting("a.b", value)]) == {"a": {"b": value}}
    assert os.linesep not in setting("a.b", value)
