from __future__ import annotations

import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest
from helpers.records import (
    write_lines,
)

from cocite.corpus.importers import detect, open_source
from cocite.errors import InputError

LINES = [{"id": f"p{i}", "title": f"T {i}", "citations": [f"p{i - 1}"] if i else []} for i in range(300)]


@pytest.mark.parametrize(
    ("name", "content", "seen"),
    [
        ("x.txt", "id,title,year\n1,A,2000\n", r"a CSV file with the columns id, title, year \(--format csv"),
        ("x.txt", 'id;title\n1;"A\nB"\n', "a semicolon-separated file with the columns id, title"),
        ("x.txt", "id\ttitle\n1\tA\n", "a tab-separated file with the columns id, title"),
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
        ("x.json", '{"paperId": "1", "title": "A"}', "papers of Semantic Scholar's API"),
        ("x.json", '{"total": 1, "data": [{"paperId": "1"}]}', "a page of an API"),
        (
            "x.jsonl",
            '{"pmid": 1, "name": "A", "k": 2}',
            r"a JSON object with the fields pmid, name, k \(give name as title; a paper needs id and title",
        ),
        ("x.txt", "some words\nmore\n", "text that begins with 'some words'"),
        ("x.bin", b"\x00\x01\x02" * 50, "binary data"),
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
    pattern = "the format is not recognised: this is "
    for source, where in ((path, ""), (tmp_path, f"a folder whose file {path.name} is ")):
        with pytest.raises(
            InputError, match=pattern + where + (seen.split(r" \(")[0] if packed else seen)
        ) as caught:
            detect(source)
        assert caught.value.hint
        assert ("packed by xz" in str(caught.value)) == packed


def test_a_pdf_of_another_name(tmp_path: Path) -> None:
    (tmp_path / "paper").write_bytes(b"%PDF-1.7\n")
    assert detect(tmp_path / "paper") == "pdf"
    with pytest.raises(InputError, match=r"file paper is a PDF \(name it .*paper\.pdf, or import it alone\)"):
        detect(tmp_path)


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
    path = tmp_path / "x.txt"
    path.write_text('id;title;year\na;"A; b";2000\nb;B;\n')
    with pytest.raises(InputError, match="semicolon-separated") as caught:
        detect(path)
    assert caught.value.hint == "--format csv --columns id=COLUMN,title=COLUMN"
    assert [(r.id, r.title) for r in open_source(path, "csv", "id=id,title=title")] == [
        ("a", "A; b"),
        ("b", "B"),
    ]
