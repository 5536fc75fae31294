"""What ``cocite recommend`` writes beside a report."""

from __future__ import annotations

from pathlib import Path

import rispy

from cocite.cli.recommend_output import note_written, write_references
from cocite.corpus.records import PaperRecord
from cocite.drafts.completion import Completion


def test_references_have_the_keys_of_the_draft(tmp_path: Path) -> None:
    added = {"lee99": PaperRecord("a", "On trees", year=1999), "kim": PaperRecord("b", "On words")}
    done = Completion({}, {}, "", "", True, (), added=added)
    write_references(done, tmp_path / "new.ris")
    assert [one["id"] for one in rispy.loads((tmp_path / "new.ris").read_text())] == ["lee99", "kim"]
    write_references(Completion({}, {}, "", "", True, ()), tmp_path / "none.ris")
    assert (tmp_path / "none.ris").read_text() == ""


def test_what_stayed_open_is_said(capsys: object) -> None:
    done = Completion({}, {}, "@misc{a}", "paper-cited.bib", False, (2, 3))
    note_written(done, ["paper-cited.tex"])
    said = capsys.readouterr().err  # type: ignore[attr-defined]
    assert "written: paper-cited.tex" in said
    assert "no citation was put into the gaps 2, 3" in said
    assert "the draft does not name paper-cited.bib" in said
