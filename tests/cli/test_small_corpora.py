"""Corpora that hold next to nothing: every command gives an answer or one sentence, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.command_line import call

from cocite.artifacts import publish
from cocite.corpus.builder import write_store
from cocite.corpus.records import PaperRecord
from cocite.corpus.rule_log import RuleLog
from cocite.corpus.store import KIND
from cocite.corpus.synth import Synthetic
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite_jobs.training.train import train

pytestmark = pytest.mark.usefixtures("signal_handlers")
STORES = ("empty", "one", "unlinked")


def store(path: Path, records: list[PaperRecord]) -> None:
    """A store as a library makes it: an import may refuse to make it."""
    meta: dict[str, object] = {}
    with publish(path, kind=KIND, meta=meta) as folder, RuleLog() as log:
        meta |= write_store(records, folder, log=log)


def said(err: str) -> list[str]:
    """The lines of standard error but warnings."""
    return [line for line in err.splitlines() if not line.startswith("cocite: warning: ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stores, queries, new papers, and a model trained on another corpus."""
    from cocite.corpus.builder import build
    from cocite.corpus.splits import by_year_name

    path = tmp_path_factory.mktemp("small")
    store(path / "empty", [])
    store(path / "one", [PaperRecord("p0", "A title of words", "An abstract of words", 2000, split="train")])
    splits = ("train", "train", "dev", "test")
    store(
        path / "unlinked",
        [
            PaperRecord(f"p{i}", f"Words number {i}", "About words", 2000 + i, split=splits[i % 4])
            for i in range(12)
        ],
    )
    (path / "q.jsonl").write_text('{"id": "q", "title": "title words"}\n')
    (path / "p.jsonl").write_text(
        '{"id": "new", "title": "title words", "year": 2001, "citations": ["p0"]}\n'
    )
    synthetic = Synthetic(100, seed=2)
    last = int(synthetic.year([99])[0])
    corpus = build(synthetic, path / "other", split=by_year_name(last - 2, last - 1))
    loop = {"training": {"epochs": 1}}
    train(NNSelectRecipe.parse(loop | {"model": {"dimension": 4}}), corpus, path / "model")
    small = {"dimension": 4, "metadata_dimension": 2, "hidden": [4, 4]}
    train(
        NNRankRecipe.parse(loop | {"model": small, "candidates": {"neighbours": 5}}), corpus, path / "model"
    )
    return path


@pytest.mark.parametrize("name", STORES)
def test_what_reads_a_corpus_answers(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    corpus, index, vectors = folder / name, tmp_path / "i", tmp_path / "v"
    has = name != "empty"
    for code, *line in (
        (0, "corpus", "stats", corpus),
        (0, "corpus", "stats", corpus, "--json"),
        (0 if has else 2, "corpus", "show", corpus, "p0"),
        (0, "corpus", "split", corpus, "--random", ".1,.1", "--to", tmp_path / "r"),
        (0, "corpus", "split", corpus, "--years", "2004,2008", "--without", corpus, "--to", tmp_path / "y"),
        (0, "corpus", "verify", tmp_path / "y"),
        (0, "index", "build", corpus, "--to", index),
        (0, "index", "build", corpus, "--to", vectors, "--model", folder / "model", "--vectors", "ivfpq"),
        (0, "index", "build", corpus, "--to", vectors, "--model", folder / "model"),
        (0, "index", "verify", vectors),
        *(
            (
                code,
                "rank",
                "--queries",
                folder / "q.jsonl",
                "--to",
                tmp_path / "t",
                "--index",
                vectors,
                *options,
            )
            for code, *options in (
                (0, "--pipeline", "bm25"),
                (0 if has else 2, "--pipeline", "first"),
                (0 if has else 2, "--model", folder / "model"),
                (0, "--model", folder / "model", "--pipeline", "nnselect"),
                (0, "--model", folder / "model", "--pipeline", "nnrank"),
            )
        ),
        (0, "index", "add", vectors, folder / "p.jsonl", "--model", folder / "model"),
        (0, "index", "add", index, folder / "p.jsonl"),
        (0 if has else 2, "index", "remove", index, "p0"),
        (0, "index", "remove", index, "new"),
        (0, "index", "list", index),
        (0, "rank", "--queries", folder / "q.jsonl", "--to", tmp_path / "t", "--index", index),
    ):
        found, _, err = call(capsys, *line)
        assert found == code, (line, err)
        assert not code or said(err)[0].startswith("cocite: "), (line, err)


@pytest.mark.parametrize("name", STORES)
def test_what_needs_citations_refuses_a_corpus_without(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    on = ("--corpus", folder / name, "--no-track")
    model = ("--model", folder / "model")
    call(capsys, "index", "build", folder / name, "--to", "index")
    lines = [
        *(("evaluate", "pipeline", *on, *model, "--task", task) for task in ("local", "global")),
        ("evaluate", "tables", *on, *model),
        ("evaluate", "reranking", *on, *model, "--task", "global"),
        ("evaluate", "cocitation", *on, *model, "--baselines", "none"),
        *(("train", recipe, *on, "--to", "m") for recipe in ("nnselect", "nnrank", "fusion", "final")),
        *(
            ("train", recipe, *on, "--to", "m", "--on", "process")
            for recipe in ("hatten", "cross-encoder-small", "masked-lm", "mp-bert4cr-small")
        ),
        *(("tune", sweep, *on) for sweep in ("bm25", "depths-first", "neighbours", "fusion-weights")),
        *((("serve", "--index", "index"),) if name == "empty" else ()),
    ]
    for line in lines:
        code, _, err = call(capsys, *line)
        assert code == 2, (line, err)
        assert len(said(err)) == 1, (line, err)
        assert said(err)[0].startswith("cocite: "), (line, err)
