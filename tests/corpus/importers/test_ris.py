from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.odd_papers import of_real_shape
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cocite.corpus import ris as written
from cocite.corpus.bibtex import citation_keys
from cocite.corpus.importers import detect, open_source
from cocite.corpus.importers import ris as module
from cocite.corpus.names import split_name
from cocite.corpus.records import Malformed, PaperRecord
from cocite.errors import InputError

SCOPUS = """
TY  - JOUR
TI  - Attention to
  references
AU  - Lee, Ann
A1  - ignored
AU  - van Beethoven, Ludwig
PY  - 2003/05/01/
T2  - TACL
AB  - Text.
KW  - parsing
KW  - trees
DO  - https://doi.org/10.1000/182
XX  - unknown
ER  -
"""
OTHER = "TY - CONF\r\nAN - 77\r\nT1 - On BERT\r\nA1 - OpenAI\r\nY1 - 1999\r\nJF - ACL\r\nER - \r\n"


def read(path: Path, text: str | bytes) -> list[Any]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert detect(path) == "ris"
    return list(open_source(path))


def test_references_of_several_programs(tmp_path: Path) -> None:
    first = PaperRecord(
        "10.1000/182",
        "Attention to references",
        "Text.",
        2003,
        "TACL",
        ("Ann Lee", "Ludwig van Beethoven"),
        ("parsing", "trees"),
        "10.1000/182",
    )
    second = PaperRecord("77", "On BERT", year=1999, venue="ACL", authors=("OpenAI",))
    assert read(tmp_path / "x.ris", SCOPUS + "\n" + OTHER) == [first, second]
    assert read(tmp_path / "bom.txt", "\ufeff" + OTHER) == [second]
    for name, packed in (
        ("x.ris.gz", gzip.compress(SCOPUS.encode())),
        ("x.ris.zst", pa.compress(SCOPUS.encode(), "zstd", asbytes=True)),
    ):
        assert read(tmp_path / name, packed) == [first]


def test_a_reference_without_id_and_doi_is_named_by_title_and_year(tmp_path: Path) -> None:
    text = "TY  - JOUR\nTI  - On BERT\nPY  - 2019\nER  - \nTY  - JOUR\nTI  - On BERT\nER  - \n"
    assert [paper.id for paper in read(tmp_path / "x.ris", text)] == ["On BERT (2019)", "On BERT"]


def test_what_is_broken_is_rejected_alone_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_REFERENCE", 1 << 20)
    text = (
        "TY  - JOUR\nTI  - no end\nTY  - JOUR\nID  - a\nTI  - A\nER  - \n"
        f"TY  - JOUR\nTI  - {'x' * (1 << 20)}\nAB  - more\nER  - \nTY  - JOUR\nTI  - no end either\n"
    )
    path = tmp_path / "x.ris"
    path.write_text(text)
    source = open_source(path)
    found = [
        (source.position.line, getattr(record, "reason", record.__class__.__name__)) for record in source
    ]
    assert found == [
        (1, "the reference is not ended by ER"),
        (3, "PaperRecord"),
        (7, "a reference of more than 1 Mi characters"),
        (11, "the reference is not ended by ER"),
    ]
    assert source.done == source.total


def test_other_encodings_are_read_and_counted(tmp_path: Path) -> None:
    hit, paper = read(tmp_path / "x.ris", "TY  - JOUR\nID  - a\nTI  - Zoë\nER  - \n".encode("cp1252"))
    assert (hit.rule, paper.title) == ("not_utf8", "Zoë")


def test_a_folder_of_references_is_read_where_nothing_else_is(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    with pytest.raises(InputError, match=r"holds no \.ris file"):
        open_source(folder, "ris")
    for name in "ab":
        (folder / f"{name}.ris").write_text(f"TY  - JOUR\nID  - {name}\nTI  - A\nER  - \n")
    source = open_source(folder)
    assert [record.id for record in source] == ["a", "b"]
    assert [[record.id for record in source.read_part(part)] for part in source.parts(1)] == [["a"], ["b"]]
    (folder / "c.bib").write_text("@misc{c, title = {C}}\n")
    records = list(open_source(folder))
    assert [record.rule for record in records if isinstance(record, Malformed)] == ["unread_file"] * 2
    assert [record.id for record in records if isinstance(record, PaperRecord)] == ["c"]


@given(st.lists(st.text(max_size=12), max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_lines_break_the_parser(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "x.ris"
    path.write_text("TY  - JOUR\n" + "\n".join(lines) + "\nER  - \n", encoding="utf-8", newline="")
    for record in open_source(path, "ris"):
        assert isinstance(record, PaperRecord | Malformed)


def test_a_thousand_written_references_come_back(tmp_path: Path) -> None:
    papers = of_real_shape(1000)
    back = read(tmp_path / "x.ris", written.entries(papers))
    assert [record.id for record in back] == citation_keys(papers)
    for paper, record in zip(papers, back, strict=True):
        assert isinstance(record, PaperRecord)
        assert (record.title, record.year) == (paper.title, paper.year)
        assert (record.venue, record.doi) == (" ".join(paper.venue.split()), paper.doi)
        assert record.keyphrases == paper.keyphrases
        assert record.authors == tuple(
            name.first_last if (name := split_name(author)) else " ".join(author.replace(",", " ").split())
            for author in paper.authors
        )
