from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import call
from helpers.pdf_files import article_file, encrypted
from helpers.progress_stages import record_stages

from cocite.cli import main
from cocite.corpus.store import Corpus

LINES = [
    {"id": "a", "title": "First", "year": 2000},
    {"id": "b", "title": "Second", "year": 2001, "citations": ["a", "zz"]},
    {"id": "b", "title": "Again"},
    {
        "id": "c",
        "title": "Third",
        "year": 2002,
        "contexts": [{"cited": ["a", "b"], "context": "as [CIT] say"}],
    },
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "papers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


def run(capsys: pytest.CaptureFixture[str], *args: object, code: int = 0) -> tuple[str, str]:
    try:
        main([*map(str, args)])
        found = 0
    except SystemExit as stop:
        found = int(stop.code or 0)
    streams = capsys.readouterr()
    assert found == code, streams.err
    return streams.out, streams.err


def data(capsys: pytest.CaptureFixture[str], *args: object) -> Any:
    return json.loads(run(capsys, *args, "--json")[0])


def test_an_import_names_what_follows_the_reading(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = record_stages(monkeypatch)
    run(capsys, "corpus", "import", source, "--to", tmp_path / "store")
    assert stages[0] == ("reading jsonl", source.stat().st_size)
    after = ["resolving citations", "ordering contexts", "ordering sentences", "writing citations"]
    assert stages[1:] == [(name, 0) for name in after]
    stages.clear()
    run(capsys, "corpus", "synth", "--papers", 50, "--to", tmp_path / "synthetic")
    assert stages == [("writing papers", 50), ("writing citations", 0), ("writing co-citations", 0)]


def test_import_stats_show_verify(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "out" / "store"
    facts = data(capsys, "corpus", "import", source, "--to", store, "--split-years", "2000,2001")
    assert (facts["papers"], facts["citations"], facts["contexts"]) == (3, 1, 1)
    assert facts["rules"]["duplicate_id"] == facts["rules"]["unknown_citation"] == 1
    entries = [json.loads(line) for line in Path(facts["rejects"]).read_text().splitlines()]
    assert {(e["rule"], e["file"], e["line"]) for e in entries} == {
        ("duplicate_id", "papers.jsonl", 3),
        ("unknown_citation", "papers.jsonl", 2),
    }
    stats = data(capsys, "corpus", "stats", store)
    assert stats["splits"] == {"none": 0, "train": 1, "dev": 1, "test": 1}
    assert stats["by_split"] == {
        "links": {"none": 0, "train": 0, "dev": 1, "test": 0},
        "contexts": {"none": 0, "train": 0, "dev": 0, "test": 1},
    }
    assert stats["years"] == {"2000": 1, "2001": 1, "2002": 1}
    assert (stats["source"], stats["format"]) == ("papers.jsonl", "jsonl")
    assert data(capsys, "corpus", "stats", store, "--characteristics")["characteristics"]["papers"] == 3
    out, _ = run(capsys, "corpus", "stats", store)
    assert "duplicate_id" in out
    assert [line.split() for line in out.splitlines() if line.startswith("│ test")] == [
        ["│", "test", "│", "1", "│", "0", "│", "1", "│"]
    ]
    assert "2001" in out
    shown = data(capsys, "corpus", "show", store, "a")
    assert shown["cited_by"] == {"total": 1, "papers": [["b", "Second"]]}
    assert shown["contexts"] == [{"citing": "c", "text": "as TARGETCIT say"}]
    assert "Second" in run(capsys, "corpus", "show", store, "a")[0]
    assert data(capsys, "corpus", "verify", store)["ok"] is True
    assert "undamaged" in run(capsys, "corpus", "verify", store)[0]


def test_mistakes_are_reported_in_a_sentence(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    _, err = run(capsys, "corpus", "import", source, "--to", store, "--strict", code=2)
    assert err.startswith("cocite: papers.jsonl:3: id: an earlier paper has this id")
    assert not store.exists()
    _, err = run(capsys, "corpus", "import", tmp_path / "none", "--to", store, code=2)
    assert "no such file or folder" in err
    _, err = run(capsys, "corpus", "import", source, "--to", store, "--format", "jsnl", code=2)
    assert "did you mean 'jsonl'?" in err
    _, err = run(capsys, "corpus", "import", source, "--to", store, "--split-years", "x", code=2)
    assert "2009,2010" in err
    run(capsys, "corpus", "import", source, "--to", store)
    _, err = run(capsys, "corpus", "import", source, "--to", store, code=2)
    assert "already exists" in err
    run(capsys, "corpus", "import", source, "--to", store, "--replace")
    assert "no paper has the id 'q'" in run(capsys, "corpus", "show", store, "q", code=2)[1]
    path = store / "cites.indices.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert "cites.indices.npy: damaged" in run(capsys, "corpus", "verify", store, code=3)[1]


def test_synth_split_and_starter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    first = data(capsys, "corpus", "synth", "--papers", 120, "--seed", 3, "--to", one)
    again = data(capsys, "corpus", "synth", "--papers", 120, "--seed", 3, "--to", two)
    assert first["papers"] == 120
    assert first["version"] == again["version"]
    split = data(capsys, "corpus", "split", one, "--to", tmp_path / "r", "--random", "0.25,0.25", "--seed", 1)
    assert split["splits"] == {"none": 0, "train": 60, "dev": 30, "test": 30}
    clean = data(
        capsys, "corpus", "split", one, "--to", tmp_path / "y", "--years", "2000,2010", "--without", two
    )
    assert clean["leaks_removed"] > 0
    assert clean["splits"]["train"] == 0
    _, err = run(capsys, "corpus", "split", one, "--to", two, "--years", "1,2", "--random", "0,0", code=2)
    assert "not both" in err
    assert data(capsys, "corpus", "starter", "--to", tmp_path / "s")["papers"] == len(
        Corpus.open(tmp_path / "s")
    )


def test_a_folder_of_pdfs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    citing = "Attention Is All You Need"
    (folder / "a.pdf").write_bytes(
        article_file(
            citing, "A measure [1, 2] is used.", ["[1] B. Kim. BLEU: a measure. 2002.", "[2] C. Wu. Sets."]
        )
    )
    (folder / "b.pdf").write_bytes(article_file("BLEU: a measure", "We count words.", head="2002"))
    (folder / "secret.pdf").write_bytes(encrypted((folder / "a.pdf").read_bytes(), "secret"))
    facts = data(capsys, "corpus", "import", folder, "--to", tmp_path / "store")
    assert [facts[name] for name in ("papers", "citations", "contexts")] == [2, 1, 1]
    entries = {e["rule"]: e for e in map(json.loads, Path(facts["rejects"]).read_text().splitlines())}
    assert entries["malformed"]["file"] == "secret.pdf"
    assert entries["malformed"]["reason"] == "is encrypted (save it without a password)"
    assert entries["unmatched_citation"]["reason"] == "1 of 2 references of a are no papers of the folder"
    assert data(capsys, "corpus", "stats", tmp_path / "store")["format"] == "pdf"
    shown = data(capsys, "corpus", "show", tmp_path / "store", "b")
    assert shown["cited_by"] == {"total": 1, "papers": [["a", citing]]}
    assert shown["contexts"] == [{"citing": "a", "text": "A measure TARGETCIT is used."}]
    strict = ("corpus", "import", folder, "--to", tmp_path / "strict", "--strict")
    assert "secret.pdf: is encrypted (save it without a password)" in run(capsys, *strict, code=2)[1]
    (folder / "a.pdf").unlink()
    (folder / "b.pdf").unlink()
    _, err = run(capsys, "corpus", "import", folder, "--to", tmp_path / "none", code=2)
    assert "no paper can be kept" in err
    assert "is encrypted" in err


NOTHING_LOST = "no rule was hit: every record and link is in the store"


def write(path: Path, *values: dict[str, Any] | str) -> Path:
    path.write_text("".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values))
    return path


def test_that_nothing_was_lost_is_printed_only_when_it_is_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    whole = write(tmp_path / "a.jsonl", {"id": "a", "title": "A"})
    code, out, _ = call(capsys, "corpus", "import", whole, "--to", store)
    assert (code, NOTHING_LOST in out) == (0, True)
    partly = write(tmp_path / "b.jsonl", {"id": "a", "title": "A", "references": ["a"], "keywords": ["k"]})
    code, out, _ = call(capsys, "corpus", "import", partly, "--to", store, "--replace")
    assert (code, NOTHING_LOST in out) == (0, False)
    for shown in (
        "unknown_field",
        "references",
        "citations",
        "keyphrases",
        "b.jsonl:1",
        "store.rejects.jsonl",
    ):
        assert shown in out
    code, out, _ = call(capsys, "corpus", "stats", store)
    assert (code, NOTHING_LOST in out, "keyphrases" in out) == (0, False, True)


@pytest.mark.parametrize(
    ("options", "links"),
    [((), 2), (("--later-years", "0"), 1), (("--later-years", "5"), 3), (("--keep-later",), 3)],
)
def test_links_to_later_papers_are_kept_as_far_as_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], links: int
) -> None:
    papers = [{"id": str(year), "title": "T", "year": year} for year in (2000, 2001, 2004)]
    citing = {"id": "a", "title": "A", "year": 2000, "citations": ["2000", "2001", "2004"]}
    source, store = write(tmp_path / "x.jsonl", *papers, citing), tmp_path / "store"
    code, _, err = call(capsys, "corpus", "import", source, "--to", store, *options)
    assert code == 0, err
    corpus = Corpus.open(store)
    assert len(corpus.cites[3]) == links


def test_unknown_fields_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "x.jsonl", *({"id": str(i), "title": "T", "refs": []} for i in range(3)))
    code, out, _ = call(capsys, "corpus", "import", source, "--to", tmp_path / "store", "--json")
    entry = {"field": "refs", "record": "paper", "count": 3, "first": "x.jsonl:1", "suggestion": "citations"}
    assert (code, json.loads(out)["unknown_fields"]) == (0, [entry])
    assert json.loads(out)["rules"]["unknown_field"] == 3
    assert json.loads(call(capsys, "corpus", "stats", tmp_path / "store", "--json")[1])["unknown_fields"] == [
        entry
    ]


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (
            ['{"id": "a", "title": "A", "refs": []}'],
            ["--strict"],
            "did you mean 'citations'? (rule unknown_field",
        ),
        (
            ['{"id": "a", "name": "A"}'],
            ["--format", "jsonl"],
            "no paper can be kept: 1 rejected, 1 by the rule empty",
        ),
        (["{", "x"], ["--format", "jsonl"], "not valid JSON"),
        ([], [], "this is an empty file"),
        ([], ["--format", "jsonl"], "no paper can be kept: it holds none"),
        (["key,title", "1,A"], [], "this is a CSV file with the columns key, title"),
        (
            ["key,title", "1,A"],
            ["--format", "csv"],
            "no column is the papers' id: there are key, title (name the",
        ),
        (["id,title", "1,A"], ["--columns", "id=key,title=title"], "no column is called 'key', for id"),
        (["id,title", "1,A"], ["--columns", "id=id"], "no column is the papers' title"),
        (['{"id": "a", "title": "A"}'], ["--format", "openalex"], "the records are those of jsonl"),
    ],
)
def test_a_source_that_cannot_be_kept_leaves_no_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: list[str], options: list[str], message: str
) -> None:
    store = tmp_path / "out" / "store"
    source = write(tmp_path / "x.jsonl", *lines)
    code, out, err = call(capsys, "corpus", "import", source, "--to", store, *options)
    assert (code, out) == (2, "")
    assert err.startswith("cocite: ")
    assert err.count("\n") == 1
    assert message in err
    assert str(source.name) in err
    left = {path.name for path in store.parent.iterdir()} if store.parent.exists() else set()
    assert left <= {"store.rejects.jsonl"}
    assert ("rejected" in message or "--strict" in options) == bool(left)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--columns", "titel=title"], "--columns: a paper has no field 'titel' (did you mean 'title'?)"),
        (["--format", "jsonl", "--columns", "id=a"], "--columns: only a table has columns, not jsonl"),
    ],
)
def test_columns_that_go_with_nothing_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    source = write(tmp_path / "x.csv", "id,title", "1,A")
    code, out, err = call(capsys, "corpus", "import", source, "--to", tmp_path / "store", *options)
    assert (code, out, err) == (2, "", f"cocite: {message}\n")


def test_a_table_is_imported_by_its_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "x.csv", "Key,Name,Ignored", "1,A,x", "2,B,y")
    line = (
        "corpus",
        "import",
        source,
        "--to",
        tmp_path / "store",
        "--columns",
        "id=Key,title=Name",
        "--json",
    )
    code, out, _ = call(capsys, *line)
    assert (code, json.loads(out)["papers"], json.loads(out)["unknown_fields"]) == (0, 2, [])
    assert Corpus.open(tmp_path / "store").papers_at([0, 1])[1].title == "B"


def test_a_failed_import_leaves_the_store_that_was_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    call(capsys, "corpus", "import", write(tmp_path / "a.jsonl", {"id": "a", "title": "A"}), "--to", store)
    cut = tmp_path / "b.jsonl.xz"
    cut.write_bytes(lzma.compress(b'{"id": "b", "title": "B"}\n' * 100)[:-8])
    code, _, err = call(capsys, "corpus", "import", cut, "--to", store, "--replace")
    assert (code, "b.jsonl.xz: the xz file is damaged or cut short" in err) == (2, True)
    assert Corpus.open(store).ids([0]) == ["a"]
