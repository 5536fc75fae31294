from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cocite.corpus.importers import open_source
from cocite.corpus.importers.whole_files import WholeFiles
from cocite.corpus.records import Malformed, PaperRecord, Record
from cocite.errors import InputError


class Titles(WholeFiles):
    """Papers whose titles are the words of files."""

    format = "titles"
    suffixes = ".bib"

    def read(self, file: Path) -> Iterator[Record]:
        for word in file.read_text().split():
            yield PaperRecord(word, word)
        self.done += file.stat().st_size


def names(records: Iterator[Record]) -> list[str]:
    return [record.id if isinstance(record, PaperRecord) else type(record).__name__ for record in records]


def test_the_parts_are_the_files_and_together_the_source(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no \.bib file"):
        Titles(tmp_path)
    for name, words in (("a.bib", "A B"), ("b.bib", "C"), ("notes.txt", "D")):
        (tmp_path / name).write_text(words)
    source = Titles(tmp_path)
    whole = names(iter(source))
    assert whole == [Malformed.__name__, "A", "B", "C"]
    assert (source.done, source.total) == (4, 4)
    assert names(iter(source)) == whole
    assert [name for part in source.parts(1) for name in names(source.read_part(part))] == whole
    assert source.done == 1


def test_the_id_is_the_name_within_the_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    file = tmp_path / "in" / "A.TITLES.bib"
    file.write_text("A")
    suffixes = (".bib", ".titles")
    assert Titles(tmp_path).id_of(file, suffixes) == "in/A"
    assert Titles(file).id_of(file, suffixes) == "A"
    assert Titles(file).id_of(file, suffixes[::-1]) == "A.TITLES"


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("bib", "@article{key, title = {On BERT}}"),
        ("ris", "TY  - JOUR\nID  - key\nTI  - On BERT\nER  - \n"),
        ("csv", "id,title\nkey,On BERT\n"),
    ],
)
def test_a_record_is_named_by_the_path_within_the_folder(tmp_path: Path, suffix: str, text: str) -> None:
    for year in ("2019", "2020"):
        (tmp_path / year).mkdir()
        (tmp_path / year / f"papers.{suffix}").write_text(text)
    source = open_source(tmp_path)
    assert [source.position.file for record in source if isinstance(record, PaperRecord)] == [
        f"2019/papers.{suffix}",
        f"2020/papers.{suffix}",
    ]
    alone = open_source(tmp_path / "2019" / f"papers.{suffix}")
    assert [alone.position.file for _ in alone] == [f"papers.{suffix}"]
