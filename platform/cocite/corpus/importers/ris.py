"""RIS, which reference managers and publishers write, parsed by rispy one reference at a time.

RIS knows no citations, so such a corpus has candidates alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.text_lines import in_utf8, text_lines
from cocite.corpus.importers.values import bare_doi, title_id
from cocite.corpus.importers.whole_files import WholeFiles
from cocite.corpus.names import split_name
from cocite.corpus.records import Malformed, PaperRecord, Record

MAX_REFERENCE = 1 << 20
"""Characters of the longest reference read before it is given up."""
BEGIN = re.compile(r"TY  ?-")
_END = re.compile(r"ER  ?-")
_YEAR = re.compile(r"\d{4}")
_TITLES = ("title", "primary_title")
_VENUES = ("secondary_title", "alternate_title3", "journal_name", "alternate_title2", "publisher")
_IDS = ("id", "doi", "accession_number")


class RIS(WholeFiles):
    """References of one or several ``.ris`` files.

    The id is ``ID``, or else the DOI or the accession number, or else title and year.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.ris import RIS
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "library.ris")
        ...     _ = path.write_text("TY  - JOUR\\nID  - lee99\\nTI  - On BERT\\nAU  - Lee, Ann\\nER  - \\n")
        ...     paper, = RIS(path)
        >>> paper.id, paper.title, paper.authors
        ('lee99', 'On BERT', ('Ann Lee',))
    """

    format = "ris"
    suffixes = ".ris"

    def read(self, file: Path) -> Iterator[Record]:
        """The records of one file."""
        self.name_file(file)
        before = self.done
        with InputFile(file) as stream:
            lines: list[str] = []
            size = 0
            for number, line in enumerate(text_lines(stream), 1):
                if BEGIN.match(line):
                    if lines:
                        yield Malformed("the reference is not ended by ER", excerpt="".join(lines)[:200])
                    self.position.line, lines, size = number, [], 0
                elif not lines:
                    continue
                size += len(line)
                if size > MAX_REFERENCE:
                    yield Malformed(f"a reference of more than {MAX_REFERENCE >> 20} Mi characters")
                    lines = []
                    continue
                lines.append(line)
                if _END.match(line):
                    self.done = before + stream.bytes_read
                    yield from _records(lines)
                    lines = []
            if lines:
                yield Malformed("the reference is not ended by ER", excerpt="".join(lines)[:200])
        self.done = before + file.stat().st_size


def _records(lines: list[str]) -> Iterator[Record]:
    """The paper of a reference's lines, after what is wrong with their encoding."""
    import rispy

    text, hit = in_utf8("".join(lines))
    if hit is not None:
        yield hit
    # Some programs write one space before the dash, where the format has two.
    tagged = [re.sub(r"^([A-Z][A-Z0-9]) -", r"\1  -", line) for line in re.split(r"\r?\n", text)]
    for reference in rispy.loads("\n".join(tagged)):
        yield _paper(reference)


def _paper(reference: dict[str, Any]) -> PaperRecord:
    title = _first(reference, _TITLES)
    year = _YEAR.search(_first(reference, ("year", "publication_year", "date")))
    doi = bare_doi(_first(reference, ("doi",)))
    id_ = _first(reference, ("id",)) or doi or _first(reference, _IDS)
    if not id_ and title:
        id_ = title_id(title, int(year.group()) if year else 0)
    return PaperRecord(
        id_,
        title,
        abstract=_first(reference, ("abstract", "notes_abstract")),
        year=int(year.group()) if year else 0,
        venue=_first(reference, _VENUES),
        authors=tuple(map(name_of, reference.get("authors") or reference.get("first_authors") or ())),
        keyphrases=tuple(filter(None, reference.get("keywords", ()))),
        doi=doi,
    )


def _first(reference: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((" ".join(reference[name].split()) for name in names if reference.get(name)), "")


def name_of(author: str) -> str:
    """``Given Family`` of ``Family, Given``; a name of another form stays.

    Example:
        >>> name_of("van Beethoven, Ludwig"), name_of("OpenAI")
        ('Ludwig van Beethoven', 'OpenAI')
    """
    spaced = " ".join(author.split())
    name = split_name(spaced) if "," in spaced else None
    return spaced if name is None else name.first_last
