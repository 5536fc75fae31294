"""What the rows of wrong inputs are about: small artifacts that are in order, and files that are not."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cocite.artifacts import publish
from cocite.corpus.builder import build
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.pipeline.components import load_encoders
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite_jobs.evaluation.pipeline import evaluate_pipeline
from cocite_jobs.training.train import train

PAPERS = 120


@dataclass(frozen=True)
class Wrong:
    """A command line that must be refused.

    Attributes:
        what: is wrong with it.
        line: after ``cocite``; ``{name}`` is a toy, ``{tmp}`` an empty folder, which is the working directory too.
        words: which the message must hold, in this order.
        code: that the command must exit with.
        leaves: what the command may leave in the working directory.
    """

    what: str
    line: str
    words: tuple[str, ...]
    code: int = 2
    leaves: str = ""


def wrong(what: str, line: str, *words: str, code: int = 2, leaves: str = "") -> Wrong:
    """A row of a table."""
    return Wrong(what, line, words, code, leaves)


def make(folder: Path) -> dict[str, str]:
    """Write all toys into a folder; returns their paths, and a few ids, by the name that rows use."""
    toys = {path.name: str(path) for maker in (_artifacts, _runs, _files) for path in maker(folder)}
    corpus = Corpus.open(folder / "corpus")
    return {name.replace(".", "_").replace("-", "_"): path for name, path in toys.items()} | {
        "id": corpus.ids([0])[0],
        "other_id": corpus.ids([1])[0],
        "missing": str(folder / "missing"),
        "unmade": str(folder / "unmade" / "deep"),
        "long": "x" * 300,
        "deep": "[" * 1100,
    }


def _artifacts(folder: Path) -> list[Path]:
    synthetic = Synthetic(PAPERS, seed=2)
    last = int(synthetic.year([PAPERS - 1])[0])
    corpus = build(synthetic, folder / "corpus", split=by_year_name(last - 2, last - 1))
    unsplit = build(_plain_papers(), folder / "unsplit")
    small = {"model": {"dimension": 4}, "training": {"epochs": 1}}
    train(NNSelectRecipe.parse(small), corpus, folder / "model")
    shutil.copytree(folder / "model", folder / "select_only")
    layers = {
        "model": {"dimension": 4, "metadata_dimension": 2, "hidden": [4, 4]},
        "candidates": {"neighbours": 5},
    }
    train(NNRankRecipe.parse(layers | {"training": {"epochs": 1}}), corpus, folder / "model")
    IndexSnapshot.create(corpus, folder / "index")
    IndexSnapshot.create(corpus, folder / "vectors", encoders=load_encoders(folder / "model"))
    for name, path in (
        ("bad_corpus", corpus.path),
        ("cut_corpus", corpus.path),
        ("bad_manifest", unsplit.path),
    ):
        shutil.copytree(path, folder / name)
    bad = folder / "bad_corpus" / "ids.npy"
    bad.write_bytes(bad.read_bytes()[:-1] + b"!")
    cut = folder / "cut_corpus" / "papers.arrow"
    cut.write_bytes(cut.read_bytes()[:-100])
    (folder / "bad_manifest" / "manifest.json").write_text('{"format": 1, "kind": "corpus"')
    with publish(folder / "foreign", kind="thing", meta={}) as temporary:
        (temporary / "a.txt").write_text("x")
    shutil.copytree(folder / "index", folder / "bad_index")
    mask = folder / "bad_index" / "versions" / "000001" / "alive.npy"
    mask.write_bytes(mask.read_bytes()[::-1])
    shutil.copytree(folder / "index", folder / "lost_version")
    (folder / "lost_version" / "CURRENT").write_text("000009\n")
    shutil.copytree(folder / "index", folder / "odd_version")
    (folder / "odd_version" / "CURRENT").write_text("../../etc\n")
    (folder / "empty_model" / "nnselect").mkdir(parents=True)
    return [path for path in folder.iterdir() if path.is_dir()]


def _plain_papers() -> list[Any]:
    from cocite.corpus.records import PaperRecord

    return [PaperRecord(f"p{i}", f"Paper number {i}") for i in range(12)]


def _runs(folder: Path) -> list[Path]:
    corpus = Corpus.open(folder / "corpus")
    before = {path.name for path in folder.iterdir()}
    evaluate_pipeline(corpus, None, stages=["bm25", "first"], k=20, to=folder / "runs")
    run = (folder / "runs" / "bm25.trec").read_text().splitlines(keepends=True)
    qrels = (folder / "runs" / "qrels.trec").read_text().splitlines(keepends=True)
    query, document = run[0].split()[0], run[0].split()[2]
    first = [line for line in run if line.split()[0] == query]

    def line(document: str, score: str) -> str:
        return f"{query} Q0 {document} 1 {score} tag\n"

    texts = {
        "run.trec": run,
        "qrels.trec": qrels,
        "five_columns.trec": ["q Q0 d 1 0.5\n"],
        "words_for_scores.trec": [line("d", "high")],
        "nan.trec": [line("d", "nan")],
        "infinite.trec": [line("d", "1e999")],
        "twice.trec": [line(document, "2"), line(document, "1")],
        "torn.trec": [*first, *run[len(first) : len(first) + 25], first[0]],
        "long_line.trec": [line("d" * 5000, "1")],
        "latin1.trec": [line("caf\xe9", "1")],
        "half_grades.qrels": ["q 0 d 0.5\n"],
        "three_columns.qrels": ["q 0 d\n"],
        "judged_twice.qrels": ["q 0 d 1\n", "q 0 d 0\n"],
        "other.qrels": ["elsewhere 0 d 1\n"],
    }
    for name, lines in texts.items():
        (folder / name).write_bytes("".join(lines).encode("latin-1"))
    (folder / "not_gzip.trec.gz").write_text("".join(run))
    (folder / "cut.trec.gz").write_bytes(gzip.compress("".join(run).encode())[:-50])
    return [path for path in folder.iterdir() if path.name not in before]


def _files(folder: Path) -> list[Path]:
    before = {path.name for path in folder.iterdir()}
    corpus = Corpus.open(folder / "corpus")
    known = corpus.ids([5])[0]
    good = {"id": "q", "title": "a title of some words"}
    queries = {
        "queries": [good],
        "unknown_key": [good, {"id": "r", "titel": "x"}],
        "number_title": [{"id": "q", "title": 3}],
        "same_id": [good, good],
        "no_id": [{"title": "x"}],
        "no_text": [{"id": "q"}],
        "unknown_paper": [{"id": "q", "paper": "nobody"}],
        "spaced_id": [{"id": "a b", "title": "x"}],
        "huge_year": [{"id": "q", "title": "x", "year": 99999}],
        "negative_year": [{"id": "q", "title": "x", "year": -5}],
        "word_year": [{"id": "q", "title": "x", "year": "soon"}],
        "authors_text": [{"id": "q", "title": "x", "authors": "A. Author"}],
        "list_line": [[1, 2]],
        "control_id": [{"id": "a\u0085b", "title": "x"}],
    }
    for name, lines in queries.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    paper = {"id": "new", "title": "New", "citations": [known]}
    sources = {
        "papers": [paper],
        "no_papers": [{"foo": 1}],
        "without_title": [paper, {"id": "b", "title": ""}],
        "twice_papers": [paper, paper],
    }
    for name, lines in sources.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    recipes = {
        "unknown_kind": "kind: nnselekt\n",
        "no_kind": "training: {epochs: 1}\n",
        "kind_list": "kind: [a, b]\n",
        "recipe_key": "kind: nnselect\ntrainin: {epochs: 1}\n",
        "recipe_type": "kind: nnselect\ntraining: {epochs: soon}\n",
        "recipe_nan": "kind: nnselect\ntraining: {optimizer: {learning_rate: .nan}}\n",
        "recipe_section": "kind: nnselect\ntraining: 3\n",
        "tagged": "kind: nnselect\ntraining: !!python/object/apply:os.system ['true']\n",
        "anchored": "kind: &a [*a]\n",
        "bomb": "a: &a [x, x]\nb: &b [*a, *a]\nkind: *b\n",
        "key_twice": "kind: nnselect\nkind: nnrank\n",
        "tabbed": "kind:\tnnselect\n\tloop: 1\n",
        "a_list": "- kind: nnselect\n",
        "a_number": "3\n",
        "merged": "kind: nnselect\n<<: 3\n",
        "odd_key": "? [a, b]\n: 1\nkind: nnselect\n",
        "two_documents": "kind: nnselect\n---\nkind: nnrank\n",
        "sweep": (
            "name: s\nstudy: {kind: bm25, queries: 20}\nspace: {k1: {uniform: [0, 5]}}\n"
            "metric: {name: MRR}\nbudget: {trials: 2}\n"
        ),
        "no_space": "name: s\nstudy: {kind: bm25}\nspace: {}\nmetric: {name: MRR}\n",
        "space_key": "name: s\nstudy: {kind: bm25}\nspace: {k7: {uniform: [0, 5]}}\nmetric: {name: MRR}\n",
        "space_form": "name: s\nstudy: {kind: bm25}\nspace: {k1: {unifrm: [0, 5]}}\nmetric: {name: MRR}\n",
        "space_order": "name: s\nstudy: {kind: bm25}\nspace: {k1: {uniform: [5, 0]}}\nmetric: {name: MRR}\n",
        "space_nan": "name: s\nstudy: {kind: bm25}\nspace: {k1: {uniform: [.nan, 1]}}\nmetric: {name: MRR}\n",
        "space_value": "name: s\nstudy: {kind: bm25}\nspace: {b: {uniform: [0, 9]}}\nmetric: {name: MRR}\n",
        "study_kind": "name: s\nstudy: {kind: bm52}\nspace: {k1: {uniform: [0, 5]}}\nmetric: {name: MRR}\n",
        "no_study": "name: s\nspace: {k1: {uniform: [0, 5]}}\nmetric: {name: MRR}\n",
        "no_metric": "name: s\nstudy: {kind: bm25}\nspace: {k1: {uniform: [0, 5]}}\n",
        "empty_choice": "name: s\nstudy: {kind: bm25}\nspace: {k1: {choice: []}}\nmetric: {name: MRR}\n",
    }
    for name, text in recipes.items():
        (folder / f"{name}.yaml").write_text(text)
    trials = {"sweep": "s", "metric": "MRR", "mode": "max", "trials": []}
    (folder / "trials_list.json").write_text("[]")
    (folder / "trials_empty.json").write_text(json.dumps(trials))
    (folder / "empty.txt").write_text("")
    (folder / "thesis.txt").write_text("years of work\n")
    for kind in ("zip", "pdf", "docx"):
        (folder / f"garbage.{kind}").write_bytes(bytes(range(256)))
    (folder / "gap.txt").write_text("Trees are parsed [CIT].\n")
    (folder / "garbage.bib").write_bytes(np.random.default_rng(4).bytes(4096))
    (folder / "garbage.bin").write_bytes(np.random.default_rng(0).bytes(4096))
    (folder / "page.xml").write_text("<html></html>")
    (folder / "latin1.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    (folder / "garbage.jsonl").write_bytes(np.random.default_rng(1).bytes(4096))
    (folder / "garbage.parquet").write_bytes(np.random.default_rng(2).bytes(4096))
    (folder / "garbage.jsonl.gz").write_bytes(np.random.default_rng(3).bytes(4096))
    (folder / "huge_line.jsonl").write_text('{"id": "a", "title": "' + "x" * 3_000_000 + '"}\n')
    (folder / "deep_line.jsonl").write_text("[" * 100_000 + "\n")
    (folder / "a_folder").mkdir()
    (folder / "bad_tracking").mkdir()
    (folder / "bad_tracking" / "mlflow.db").write_text("no database")
    (folder / "home").mkdir()
    (folder / "home" / "thesis.tex").write_text("years of work\n")
    (folder / "no_sweep" / "trials").mkdir(parents=True)
    (folder / "no_sweep" / "trials" / "of_last_year.csv").write_text("years of work")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("nowhere")
    return [path for path in folder.iterdir() if path.name not in before]
