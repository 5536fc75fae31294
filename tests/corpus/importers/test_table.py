from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import pytest

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.importers.table import parse_columns
from cocite.corpus.records import Malformed, PaperRecord, UnknownFields
from cocite.errors import InputError


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(path: Path, columns: str | None = None) -> list[Any]:
    return list(open_source(path, None, columns))


def test_columns_with_the_names_of_fields_are_read(tmp_path: Path) -> None:
    text = (
        "\ufeffID,Title,Year,Venue,Authors,Keyphrases,DOI,Citations,Abstract\n"
        'a,"A, ""b""\nc",2003,ACL,"Lee, Ann; Bob Ray",x; y,https://doi.org/10.1/1,b; c,Text.\n'
        "\n"
        "b,B,,,,,,,\n"
    )
    path = write(tmp_path / "x.csv", text)
    assert detect(path) == "csv"
    wanted = [
        PaperRecord(
            "a",
            'A, "b"\nc',
            "Text.",
            2003,
            "ACL",
            ("Ann Lee", "Bob Ray"),
            ("x", "y"),
            "10.1/1",
            "",
            ("b", "c"),
        ),
        PaperRecord("b", "B"),
    ]
    assert read(path) == wanted
    assert read(write(tmp_path / "x.csv.xz", lzma.compress(text.encode()))) == wanted


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.tsv", "Key\tName\na\tA; b, c\n"),
        ("x.csv", 'Key;Name\na;"A; b, c"\n'),
        ("x.csv", 'Key,Name\na,"A; b, c"\n'),
    ],
)
def test_columns_are_mapped_whatever_the_delimiter(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path / name, text)
    assert read(path, "id=Key, title=Name") == [PaperRecord("a", "A; b, c")]
    with pytest.raises(
        InputError, match=r"no column is the papers' id: there are Key, Name \(name the columns"
    ):
        read(path)
    with pytest.raises(InputError, match=r"no column is called 'Nam', for title \(did you mean 'Name'\?\)"):
        read(path, "id=Key,title=Nam")


def test_columns_that_are_no_field_are_counted_unless_columns_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "id,title,Keywords\na,A,x\n")
    assert read(path) == [UnknownFields("paper", ("Keywords",)), PaperRecord("a", "A")]
    assert read(path, "id=id,title=title") == [PaperRecord("a", "A")]
    corpus = build(open_source(path), tmp_path / "store")
    [entry] = corpus.manifest.meta["unknown_fields"]
    assert (entry["field"], entry["count"], entry["suggestion"]) == ("Keywords", 1, "keyphrases")


def test_rows_that_do_not_fit_are_rejected_alone_with_their_line(tmp_path: Path) -> None:
    text = (
        "id,title,year\n"
        'a,"A\nb",2000\n'
        "b,B\n"
        "c,C,2000,more\n"
        "d,D,soon\n"
        f"e,{'x' * 200_000},2000\n"
        "f,F,2001\n"
        'g,"no end,2002\nh,H,2003\n'
    )
    source = open_source(write(tmp_path / "x.csv", text))
    found = [
        (source.position.line, getattr(record, "reason", getattr(record, "id", ""))) for record in source
    ]
    assert found == [
        (2, "a"),
        (4, "the row has 2 cells and the table 3 columns"),
        (5, "the row has 4 cells and the table 3 columns"),
        (6, "year must be a whole number, not 'soon'"),
        (7, "the row cannot be read: field larger than field limit (131072)"),
        (8, "f"),
        (9, "the row has 2 cells and the table 3 columns"),
    ]
    assert source.done == source.total


def test_other_encodings_are_read_and_counted(tmp_path: Path) -> None:
    hit, paper = read(write(tmp_path / "x.csv", "id,title\na,Zoë\n".encode("cp1252")))
    assert isinstance(hit, Malformed)
    assert (hit.rule, paper.title) == ("not_utf8", "Zoë")


def test_a_folder_of_tables_is_read_file_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    with pytest.raises(InputError, match=r"holds no \.csv or \.tsv file"):
        open_source(folder, "csv")
    write(folder / "a.csv", "id,title\na,A\n")
    write(folder / "b.tsv", "title\tid\nB\tb\n")
    source = open_source(folder)
    assert [record.id for record in source] == ["a", "b"]
    assert [[record.id for record in source.read_part(part)] for part in source.parts(1)] == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id", "--columns: 'id' is not of the form field=column"),
        ("id=", "--columns: 'id=' is not of the form field=column"),
        ("id=a,titel=b", r"--columns: a paper has no field 'titel' \(did you mean 'title'\?\)"),
        ("id=a,id=b", "--columns: the field 'id' has two columns"),
        ("contexts=a", "--columns: a paper has no field 'contexts'"),
    ],
)
def test_a_mapping_that_cannot_be_meant_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        parse_columns(text)


def test_only_tables_have_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", '{"id": "a", "title": "A"}\n')
    with pytest.raises(InputError, match="--columns: only a table has columns, not jsonl"):
        open_source(path, "jsonl", "id=id,title=title")
