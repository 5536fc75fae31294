"""What ``cocite recommend`` writes beside a report."""

from __future__ import annotations

from pathlib import Path

import rispy

from cocite.cli.recommend_output import note_written, write_draft, write_references
from cocite.corpus.records import PaperRecord
from cocite.drafts.completion import Completion
from cocite.drafts.reading import open_draft


def test_references_have_the_keys_of_the_draft(tmp_path: Path) -> None:
    added = {"lee99": PaperRecord("a", "On trees", year=1999), "kim": PaperRecord("b", "On words")}
    done = Completion({}, {}, "", "", True, (), added=added)
    write_references(done, tmp_path / "new.ris")
    assert [one["id"] for one in rispy.loads((tmp_path / "new.ris").read_text())] == ["lee99", "kim"]
    write_references(Completion({}, {}, "", "", True, ()), tmp_path / "none.ris")
    assert (tmp_path / "none.ris").read_text() == ""


def test_a_copy_of_a_project_has_the_bibliographies_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "paper.tex"
    path.write_text("Trees. \\input{more} \\bibliography{refs,bib/more,gone}")
    (tmp_path / "more.tex").write_text("Words [CIT].")
    (tmp_path / "refs.bib").write_text("@misc{a, title = {Trees}}")
    (tmp_path / "bib").mkdir()
    (tmp_path / "bib" / "more.bib").write_bytes(b"@misc{b, title = {Caf\xe9}}\r\n")
    opened = open_draft(path)
    texts = {**opened.draft.sources, "more.tex": "Words \\cite{lee}."}
    done = Completion(opened.draft.sources, texts, "@misc{lee}", "paper-cited.bib", True, ())
    [written] = write_draft(done, path, opened, None, in_place=False)
    copy = Path(written)
    assert {file.relative_to(copy).as_posix() for file in copy.rglob("*.*")} == {
        *("paper.tex", "more.tex", "refs.bib", "bib/more.bib", "paper-cited.bib")
    }
    assert (copy / "bib" / "more.bib").read_bytes() == b"@misc{b, title = {Caf\xe9}}\r\n"


def test_what_stayed_open_is_said(capsys: object) -> None:
    done = Completion({}, {}, "@misc{a}", "paper-cited.bib", False, (2, 3))
    note_written(done, ["paper-cited.tex"])
    said = capsys.readouterr().err  # type: ignore[attr-defined]
    assert "written: paper-cited.tex" in said
    assert "no citation was put into the gaps 2, 3" in said
    assert "the draft does not name paper-cited.bib" in said
