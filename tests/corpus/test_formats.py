"""Whatever form a source has: compressed, an array, pages, or a format that is not read."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.records import write_lines
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, files, json_values, open_source
from cocite.corpus.importers.files import InputFile
from cocite.corpus.records import Malformed, PaperRecord
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError

WORKS = Path(__file__).parent / "data" / "openalex.jsonl"
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
    "bz2": bz2.compress,
}
LINES = [{"id": f"p{i}", "title": f"T {i}", "citations": [f"p{i - 1}"] if i else []} for i in range(300)]


def works() -> list[dict[str, Any]]:
    return [json.loads(line) for line in WORKS.read_text().splitlines()]


def version(source: Path, store: Path) -> str:
    return build(open_source(source), store, replace=True).version


# -- compression --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_compressed_source_is_the_same_source(tmp_path: Path, suffix: str) -> None:
    plain = write_lines(tmp_path / "x.jsonl", LINES)
    packed = tmp_path / f"x.jsonl.{suffix}"
    # Two streams one after the other, as parts that were joined.
    data = plain.read_bytes()
    packed.write_bytes(PACKERS[suffix](data[:5000]) + PACKERS[suffix](data[5000:]))
    source = open_source(packed)
    assert len(list(source)) == len(LINES)
    assert source.done == source.total == packed.stat().st_size
    assert source.position.line == len(LINES)
    assert version(packed, tmp_path / "packed") == version(plain, tmp_path / "plain")
    (tmp_path / "in").mkdir()
    packed.rename(tmp_path / "in" / packed.name)
    assert version(tmp_path / "in", tmp_path / "folder") == version(plain, tmp_path / "plain")


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("format", ["jsonl", "bibtex", None])
def test_a_damaged_file_is_refused_whole(tmp_path: Path, suffix: str, format: str | None) -> None:
    name = "x.bib" if format == "bibtex" else "x.jsonl"
    text = "".join(f"@misc{{k{i}, title = {{T {i * i}}}}}\n" for i in range(300))
    lines = "".join(json.dumps({"id": str(i), "title": f"T {i * i}"}) + "\n" for i in range(300))
    whole = PACKERS[suffix]((text if format == "bibtex" else lines).encode())
    path = tmp_path / f"{name}.{suffix}"
    for broken in (whole[: len(whole) // 2], whole[:6] + b"\0not a stream" * 9):
        path.write_bytes(broken)
        with pytest.raises(InputError, match=r"file is damaged or cut short"):
            build(open_source(path, format), tmp_path / "store", rejects=tmp_path / "rejects.jsonl")
        assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_file_that_unpacks_to_absurdly_much_is_refused(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 1 << 20)
    path = tmp_path / f"x.jsonl.{suffix}"
    path.write_bytes(PACKERS[suffix](b'{"id": "a", "title": "A"}\n' + b" " * (16 << 20)))
    with pytest.raises(InputError, match="unpacks to more than 250 times its size"):
        build(open_source(path), tmp_path / "store")
    assert not (tmp_path / "store").exists()


# -- arrays and pages ---------------------------------------------------------------------------------------

OBJECTS = st.dictionaries(
    st.sampled_from(["id", "title", "x\n"]),
    st.text(max_size=8) | st.lists(st.floats(), max_size=3),
    max_size=3,
)


@given(
    st.lists(OBJECTS, min_size=1, max_size=8),
    st.sampled_from([None, 0, 3]),
    st.booleans(),
    st.integers(4, 64),
)
def test_an_array_is_its_elements(
    tmp_path: Path, values: list[Any], indent: int | None, ascii_only: bool, chunk: int
) -> None:
    """However it is written, and wherever a piece that is read ends."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps(values, indent=indent, ensure_ascii=ascii_only), encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch, InputFile(path) as stream:
        patch.setattr(json_values, "CHUNK", chunk)
        found = list(json_values.json_values(stream, SourcePosition()))
    assert json.dumps(found) == json.dumps(values)


def test_lines_of_an_array_are_those_of_its_elements(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(
        '[\n {"id": "a",\n  "title": "A"},\n\n 7, {"id": "b", "title": ["B"]}\n]\n'
    )
    source = open_source(tmp_path / "x.json")
    found = [(type(record), source.position.line) for record in source]
    assert found == [(PaperRecord, 2), (Malformed, 5), (Malformed, 5)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"id": "a", "title": "A"},\n{"id": "b", "title"', r"x\.json:2: not valid JSON"),
        ('[{"id": "a", "title": "A"},\n{"id": b}]', r"x\.json:2: not valid JSON: Expecting value"),
        ('[{"id": "a", "title": "A"}', "the JSON array has no end"),
        ('[{"id": "a", "title": "A"}, ' + "[" * 100_000, "not valid JSON"),
    ],
)
def test_a_broken_array_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=reason):
        build(open_source(tmp_path / "x.json", "jsonl"), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_an_array_takes_the_memory_of_a_piece(tmp_path: Path) -> None:
    """A limit on memory that the file's values together would break; run apart, since a limit holds to the end."""
    path = tmp_path / "x.json"
    with path.open("w") as file:
        file.write("[")
        for i in range(20_000):
            file.write(
                ("," if i else "") + json.dumps({"id": str(i), "title": "T", "abstract": "word " * 1000})
            )
        file.write("]")
    code = (
        "import sys, resource\n"
        "from pathlib import Path\n"
        "from cocite.corpus.importers import open_source\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "count = sum(1 for _ in open_source(Path(sys.argv[1])))\n"
        "print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    count, kibibytes = map(int, done.stdout.split())
    assert count == 20_000
    assert path.stat().st_size > 95 << 20
    assert kibibytes < 32 << 10


@pytest.mark.parametrize(
    "form", ["lines", "page", "pretty page", "pages in lines", "array", "folder", "folder.zst"]
)
def test_openalex_pages_are_their_works(tmp_path: Path, form: str) -> None:
    page = {"meta": {"count": 5, "page": 1}, "results": works(), "group_by": []}
    halves = [page | {"results": page["results"][:2]}, page | {"results": page["results"][2:]}]
    path = tmp_path / "in.json"
    if form.startswith("folder"):
        path = tmp_path / "in"
        path.mkdir()
        for number, half in enumerate(halves):
            data = json.dumps(half, indent=2).encode()
            suffix = form.partition(".")[2]
            name = f"page{number}.json{'.' + suffix if suffix else ''}"
            (path / name).write_bytes(PACKERS[suffix](data) if suffix else data)
    elif form == "pages in lines":
        write_lines(path, halves)
    elif form == "lines":
        shutil.copy(WORKS, path)
    else:
        path.write_text(
            json.dumps(works() if form == "array" else page, indent=2 if form != "page" else None)
        )
    assert detect(path) == "openalex"
    assert [work.id for work in open_source(path) if isinstance(work, PaperRecord)] == [
        "W1",
        "W2",
        "W3",
        "W4",
        "W5",
    ]
    assert version(path, tmp_path / "one") == version(WORKS, tmp_path / "other")


def test_what_is_wrong_within_a_page_is_named(tmp_path: Path) -> None:
    author = {"id": "https://openalex.org/A5", "display_name": "Ada Lovelace"}
    results = [*works(), {"id": "W9", "title": "T", "publication_year": "soon"}, 3, author]
    (tmp_path / "page.json").write_text(json.dumps({"meta": {}, "results": results}))
    found = [r for r in open_source(tmp_path / "page.json") if isinstance(r, Malformed)]
    assert [r.field for r in found] == ["results[5].publication_year", "results[6].work", "results[7].id"]
    assert "id must be that of a work, not 'https://openalex.org/A5'" in found[-1].reason


# -- what is seen where the format cannot be told -----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "seen"),
    [
        ("x.csv", "id,title,year\n1,A,2000\n", r"a CSV file with the columns id, title, year \(python -c"),
        ("x.csv", 'id;title\n1;"A\nB"\n', "a semicolon-separated file with the columns id, title"),
        ("x.tsv", "id\ttitle\n1\tA\n", "a tab-separated file with the columns id, title"),
        ("x.ris", "TY  - JOUR\nTI  - A\nER  - \n", r"RIS \(.*pandoc -f ris -t bibtex .*x\.ris -o NEW\.bib"),
        ("x.nbib", "PMID- 1\n", "PubMed's tagged references"),
        ("x.enw", "%0 Journal Article\n", "EndNote's tagged references"),
        ("x.tex", "% a paper\n\\documentclass{article}\n", r"LaTeX source \(import the \.bib file"),
        ("x.html", "<!DOCTYPE html>\n<html>", "an HTML page"),
        ("x.xml", '<?xml version="1.0"?>\n<a/>', "XML"),
        ("x.jsonl", "", "an empty file"),
        ("x.json", " \n\n", "an empty file"),
        ("x.json", "[]", "JSON without a valid record"),
        ("x.json", '{"id": "a", "title": "A"', "JSON without a valid record"),
        ("x.json", "{}", "a JSON object without fields"),
        (
            "x.jsonl",
            '{"_id": "1", "title": "A", "text": "B", "metadata": {}}\n',
            r"a BEIR corpus with _id, title and text \(jq -c '\{id: \._id",
        ),
        (
            "csl.json",
            '[{"id": "a", "type": "article-journal", "title": "A", "issued": {"date-parts": [[2000]]}}]',
            r"CSL JSON \(.*pandoc -f csljson",
        ),
        ("x.json", '{"id": "a", "title": "A", "author": [{"family": "B"}]}', "CSL JSON"),
        ("x.json", '{"paperId": "1", "title": "A"}', "papers of Semantic Scholar's API"),
        ("x.json", '{"total": 1, "data": [{"paperId": "1"}]}', "a page of an API"),
        ("x.json", '{"status": "ok", "message-type": "work-list", "message": {}}', "works of Crossref's API"),
        (
            "x.jsonl",
            '{"pmid": 1, "name": "A", "k": 2}',
            r"a JSON object with the fields pmid, name, k \(give name as title; a paper needs id and title",
        ),
        ("x.txt", "some words\nmore\n", "text that begins with 'some words'"),
        ("x.bin", b"\x00\x01\x02" * 50, "binary data"),
        ("x.pdf", b"%PDF-1.7\n", "a PDF"),
        ("x.csv", "id,title\n1,A\n".encode("utf-16"), r"text in UTF-16 \(iconv"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_was_seen_and_what_to_do(
    tmp_path: Path, name: str, content: str | bytes, seen: str, packed: bool
) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    path = tmp_path / (f"{name}.xz" if packed else name)
    path.write_bytes(lzma.compress(data) if packed else data)
    pattern = "the format cannot be told from the first record: this is "
    for source, where in ((path, ""), (tmp_path, f"a folder whose file {path.name} is ")):
        with pytest.raises(
            InputError, match=pattern + where + (seen.split(r" \(")[0] if packed else seen)
        ) as caught:
            detect(source)
        assert caught.value.hint
        assert ("packed by xz" in str(caught.value)) == packed


def test_archives_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder without files"):
        detect(tmp_path)
    text = write_lines(tmp_path / "x.jsonl", LINES)
    for name, mode in (("x.tar", "w"), ("x.tgz", "w:gz")):
        with tarfile.open(tmp_path / name, mode) as archive:  # type: ignore[call-overload]
            archive.add(text)
        with pytest.raises(InputError, match=rf"a tar archive \(tar -xf .*{name}\)"):
            detect(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(text)
    with pytest.raises(InputError, match="a zip archive"):
        detect(tmp_path / "x.zip")
    (tmp_path / "refs.txt").write_text("Exported on Monday\n\n@article{a, title = {A}}\n")
    assert detect(tmp_path / "refs.txt") == "bibtex"


def test_the_recipe_for_a_table_works(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('id;title;year\na;"A; b";2000\nb;B;\n')
    with pytest.raises(InputError, match="semicolon-separated") as caught:
        detect(path)
    recipe = (
        str(caught.value.hint).split("; a paper needs")[0].replace("NEW.jsonl", str(tmp_path / "new.jsonl"))
    )
    subprocess.run(recipe.replace("python -c", f"{sys.executable} -c"), shell=True, check=True)
    assert [(r.id, r.title, r.year) for r in open_source(tmp_path / "new.jsonl")] == [
        ("a", "A; b", 2000),
        ("b", "B", 0),
    ]


def test_a_format_that_the_records_do_not_have_is_refused(tmp_path: Path) -> None:
    native = write_lines(tmp_path / "x.jsonl", LINES)
    for name in ("openalex", "s2", "citeomatic"):
        with pytest.raises(
            InputError, match=rf"the records are those of jsonl, not of {name} \(--format jsonl\)"
        ):
            open_source(native, name)
    with pytest.raises(InputError, match="no paper can be kept"):
        build(open_source(native, "bibtex"), tmp_path / "store")
    with pytest.raises(InputError, match=r"holds no papers\.parquet"):
        open_source(native, "parquet")


def test_files_of_several_formats_are_refused_and_unread_ones_counted(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_lines(folder / "a.jsonl", LINES)
    shutil.copy(WORKS, folder / "works.jsonl")
    with pytest.raises(InputError, match=r"several formats: a\.jsonl \(jsonl\), works\.jsonl \(openalex\)"):
        detect(folder)
    (folder / "works.jsonl").rename(folder / "works.txt")
    (folder / "README.md").write_text("about")
    corpus = build(open_source(folder), tmp_path / "store")
    assert corpus.counts["rules"]["unread_file"] == 1
    assert corpus.manifest.meta["samples"]["unread_file"][0]["file"] == "works.txt"


def test_s2_files_that_lack_their_papers_are_refused(tmp_path: Path) -> None:
    abstracts = [{"corpusid": i, "openaccessinfo": {}, "abstract": f"Of {i}."} for i in range(7)]
    write_lines(tmp_path / "abstracts.jsonl", abstracts)
    write_lines(tmp_path / "citations.jsonl", [{"citingcorpusid": 1, "citedcorpusid": 0}])
    with pytest.raises(InputError, match="holds citations and abstracts but no papers"):
        open_source(tmp_path)
    listed = [{"corpusid": i, "title": f"P{i}", "abstract": "its own" if i == 1 else None} for i in range(3)]
    write_lines(tmp_path / "papers.jsonl", [*listed, {"corpusid": 9, "abstract": "astray"}])
    (tmp_path / "broken.jsonl").write_text("no\nJSON\n")
    corpus = build(open_source(tmp_path), tmp_path / "store")
    assert [p.abstract for p in corpus.papers_at(range(3))] == ["Of 0.", "its own", "Of 2."]
    hits = {name: n for name, n in corpus.counts["rules"].items() if n}
    assert hits == {"abstract_of_unknown_paper": 4, "malformed": 3}
