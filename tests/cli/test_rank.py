"""``cocite rank`` from end to end, on a small synthetic corpus."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.evaluation.queries import QueryFile
from cocite.evaluation.trec import DocumentNumbers, read_run
from cocite.retrieval.index.snapshot import IndexSnapshot


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=1)


@pytest.fixture(scope="module")
def index(corpus, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("rank") / "index"
    IndexSnapshot.create(corpus, folder)
    return folder


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def ranked(corpus: Corpus, path: Path) -> dict[str, list[int]]:
    ids = DocumentNumbers(corpus.ids(range(len(corpus))))
    return {
        query: rows[rows >= 0].tolist()
        for queries, r in read_run(path, ids.rows)
        for query, rows in zip(queries, r.rows, strict=True)
    }


def test_a_corpus_that_is_trusted_is_not_read_for_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COCITE_VERIFY", "1")
    build(Synthetic(60, seed=1), tmp_path / "corpus")
    unused = tmp_path / "corpus" / "cocitations.counts.npy"
    data = unused.read_bytes()
    unused.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    queries = write(tmp_path / "q.jsonl", {"id": "1", "title": "a title"})
    command = ("rank", "--corpus", tmp_path / "corpus", "--pipeline", "bm25", "--queries", queries)
    code, _, err = call(capsys, *command, "--to", tmp_path / "run")
    assert (code, "cocitations.counts.npy: damaged" in err) == (3, True)
    code, _, _ = call(capsys, *command, "--to", tmp_path / "run", "--no-verify")
    assert (code, (tmp_path / "run").is_file()) == (0, True)


def test_every_query_gets_its_lines_in_order(corpus, index, tmp_path, capsys):
    citing = int(corpus.context_citing[-1])
    paper, text = corpus.paper(citing), corpus.contexts.take("text", [len(corpus.contexts) - 1])[0]
    other = corpus.ids([int(corpus.cites[citing][0])])[0]
    queries = write(
        tmp_path / "q.jsonl",
        {"id": 17, "context": text, "paper": paper.id, "sentence": 3},
        "",
        {"id": "t", "title": paper.title, "abstract": None, "year": 2012},
        {"id": "x", "title": paper.title, "exclude": [paper.id, other, "nobody"]},
    )
    code, out, err = call(
        capsys,
        "rank",
        "--queries",
        queries,
        "--to",
        tmp_path / "r.trec",
        "--index",
        index,
        "--k",
        50,
        "--json",
    )
    assert code == 0, err
    summary = json.loads(out)
    assert (summary["queries"], summary["lines"], summary["unknown_excludes"]) == (3, 150, 1)
    found = ranked(corpus, tmp_path / "r.trec")
    assert list(found) == ["17", "t", "x"]
    assert all(len(rows) == 50 for rows in found.values())
    assert citing not in found["17"]
    assert citing in found["t"]
    assert {citing, corpus.row(other)}.isdisjoint(found["x"])


@pytest.mark.parametrize("pipeline", ["full", "first", "bm25"])
def test_batches_do_not_change_a_run(corpus, index, tmp_path, capsys, pipeline):
    queries = write(tmp_path / "q.jsonl", *({"id": i, "title": corpus.paper(i).title} for i in range(9)))
    for batch in (2, 64):
        args = ["--queries", queries, "--to", tmp_path / f"{batch}", "--index", index, "--k", 20]
        assert call(capsys, "rank", *args, "--pipeline", pipeline, "--batch", batch)[0] == 0
    assert (tmp_path / "2").read_bytes() == (tmp_path / "64").read_bytes()
    assert (tmp_path / "2").read_text().split("\n")[0].endswith(f" {pipeline}")


@pytest.mark.parametrize("pipeline", ["full", "bm25"])
def test_candidates_are_all_papers_unless_older_ones_are_asked_for(corpus, index, tmp_path, capsys, pipeline):
    years = np.asarray(corpus.years)
    middle = int(np.median(years))
    text = {"title": corpus.paper(250).title, "abstract": corpus.paper(250).abstract}
    first_words = corpus.paper(0).title
    queries = write(
        tmp_path / "q.jsonl",
        {"id": "dated", "year": middle, **text},
        {"id": "undated", **text},
        {"id": "before-all", "year": int(years.min()) - 1, "title": first_words},
    )
    found = {}
    for options in ((), ("--candidates", "all"), ("--candidates", "older")):
        to = tmp_path / "-".join(("run", *options))
        args = [
            "--queries",
            queries,
            "--to",
            to,
            "--index",
            index,
            "--k",
            300,
            "--pipeline",
            pipeline,
            *options,
        ]
        code, out, err = call(capsys, "rank", *args, "--json")
        assert code == 0, err
        assert json.loads(out)["candidates"] == (options[-1] if options else "all")
        found[options] = ranked(corpus, to), json.loads(out)["queries_without_candidates"]
    every, older = found["--candidates", "all"][0], found["--candidates", "older"][0]
    assert every == found[()][0]
    assert (years[every["dated"]] > middle).any()
    assert (years[older["dated"]] <= middle).all()
    if pipeline == "bm25":
        assert older["dated"] == [row for row in every["dated"] if years[row] <= middle]
    assert older["undated"] == every["undated"]
    assert "before-all" not in older
    assert found["--candidates", "older"][1] == 1


def test_bm25_needs_no_index(corpus, index, tmp_path, capsys):
    queries = write(tmp_path / "q.jsonl", *({"id": i, "title": corpus.paper(i).title} for i in range(5)))
    for source in (("--corpus", corpus.path), ("--index", index)):
        args = [
            "--queries",
            queries,
            "--to",
            tmp_path / source[0],
            *source,
            "--retriever",
            "bm25",
            "--form",
            "title",
        ]
        assert call(capsys, "rank", *args)[0] == 0
    assert (tmp_path / "--corpus").read_bytes() == (tmp_path / "--index").read_bytes()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "b", "titel": "x"}', "line 2: unknown key 'titel' (did you mean 'title'?)"),
        ('{"id": "b", "title": 3}', "line 2: title: input should be a valid string, got 3"),
        ('{"id": "a", "title": "x"}', "line 2: id: 'a' has been used by an earlier line"),
        ('{"id": "b c", "title": "x"}', "line 2, 'b c' is empty or contains a space"),
        ('{"title": "x"}', "line 2: the key 'id' is missing"),
        ('{"id": "b"}', "line 2: has no text to rank by"),
        ('{"id": "b", "context": " TARGETCIT "}', "line 2: has no text to rank by"),
        ('{"id": "b", "paper": "nobody"}', "line 2: paper: no paper of the corpus has the id 'nobody'"),
        (
            '{"id": "b", "year": 99999, "title": "x"}',
            "line 2: year: input should be less than or equal to 9999",
        ),
        ('{"id": "b", "title": "x"', "line 2: not valid JSON"),
        ('{"id": "b", "title": "x", "title": "y"}', "line 2: not valid JSON: a field is given twice"),
        ("[1]", "line 2: must be one JSON object"),
        ("[" * 5000, "line 2: not valid JSON"),
        (
            json.dumps({"id": "b", "title": "x" * 5000}),
            "line 2: title: string should have at most 4000 characters",
        ),
        (json.dumps({"id": "b", "title": "x" * (1 << 20)}), "line 2: longer than 1,048,576 bytes"),
    ],
)
def test_a_bad_line_is_refused_and_no_run_appears(corpus, tmp_path, capsys, line, message):
    queries = write(tmp_path / "q.jsonl", {"id": "a", "title": "some words"}, line)
    args = ["--queries", queries, "--to", tmp_path / "run", "--corpus", corpus.path, "--retriever", "bm25"]
    code, _, err = call(capsys, "rank", *args)
    assert code == 2
    assert message in err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--pipeline", "bm52"], "did you mean 'bm25'"),
        (["--pipeline", "bm25", "--form", "titel"], "did you mean 'title'"),
        (["--pipeline", "nnselect"], "needs a model folder"),
        (["--pipeline", "first", "--form", "title"], "goes with --pipeline bm25"),
        (["--model", "nowhere"], "no such model folder"),
    ],
)
def test_bad_options_are_refused(index, tmp_path, capsys, args, message):
    queries = write(tmp_path / "q.jsonl", {"id": "a", "title": "some words"})
    code, _, err = call(
        capsys, "rank", "--queries", queries, "--to", tmp_path / "run", "--index", index, *args
    )
    assert code == 2
    assert message in err


def test_one_source_of_papers_is_needed(corpus, index, tmp_path, capsys):
    queries = write(tmp_path / "q.jsonl", {"id": "a", "title": "some words"})
    base = ["rank", "--queries", queries, "--to", tmp_path / "run"]
    for args in ([], ["--index", index, "--corpus", corpus.path]):
        assert "give --index or --corpus" in call(capsys, *base, *args, "--pipeline", "bm25")[2]
    assert "needs --index" in call(capsys, *base, "--corpus", corpus.path, "--pipeline", "first")[2]


def test_what_a_line_lacks_is_taken_from_its_paper(corpus, tmp_path):
    known = corpus.paper(200)
    path = write(
        tmp_path / "q.jsonl",
        {"id": "a", "paper": known.id, "context": "words [CIT] more"},
        {"id": "b", "paper": known.id, "title": "Another title", "authors": ["Someone Else"], "year": 1999},
        {"id": "c", "title": "From outside"},
    )
    a, b, c = QueryFile(path, corpus)
    assert (a.title, a.abstract, a.authors, a.year) == (
        known.title,
        known.abstract,
        known.authors,
        known.year,
    )
    assert (a.paper, a.context, a.sentence) == (200, "words [CIT] more", -1)
    assert (b.title, b.abstract, b.authors, b.year) == (
        "Another title",
        known.abstract,
        ("Someone Else",),
        1999,
    )
    assert (c.paper, c.authors, c.year) == (-1, (), None)


def test_a_file_without_queries_is_refused(corpus, tmp_path, capsys):
    for name, text, message in (("empty", "\n", "holds no query"), ("bytes", "\xff", "not valid")):
        (tmp_path / name).write_bytes(text.encode("latin-1"))
        args = [
            "--queries",
            tmp_path / name,
            "--to",
            tmp_path / "run",
            "--corpus",
            corpus.path,
            "--retriever",
            "bm25",
        ]
        assert message in call(capsys, "rank", *args)[2]
    assert np.array_equal(sorted(p.name for p in tmp_path.iterdir()), ["bytes", "empty"])
