"""What ``cocite recommend`` refuses before it opens an index."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from docx import Document

from cocite.cli.recommend_checks import PARTNERS, open_checked, require_draft, require_partners
from cocite.errors import InputError

NOTHING: dict[str, Any] = {
    "suggest": False,
    "write": False,
    "in_place": False,
    "patch": None,
    "cite_keys": False,
    "references": None,
}


@pytest.mark.parametrize("name", PARTNERS)
def test_an_option_needs_one_of_its_partners(name: str) -> None:
    nothing = dict.fromkeys([*PARTNERS, "write", "patch", "have", "suggest"], False)
    require_partners(**nothing)
    option = f"--{name.replace('_', '-')}"
    with pytest.raises(InputError, match=f"^{option}: goes with --"):
        require_partners(**{**nothing, name: True})
    for partner in PARTNERS[name]:
        require_partners(**{**nothing, name: True, partner: True})


def test_a_patch_goes_without_write() -> None:
    with pytest.raises(InputError, match="^--patch: goes without --write"):
        require_partners(write=True, patch=True)


def test_an_option_for_drafts_needs_one() -> None:
    with pytest.raises(InputError, match="^--like-cited: goes with a draft$"):
        require_draft(bib=False, like_cited=True)


def test_a_draft_with_something_to_answer_is_opened(tmp_path: Path) -> None:
    draft = tmp_path / "paper.md"
    draft.write_text("We parse with trees [CIT].\n")
    path, opened = open_checked(draft, "", **NOTHING)
    assert path == draft
    assert len(opened.draft.gaps) == 1
    draft.write_text("We parse with trees.\n")
    with pytest.raises(InputError, match="has neither gaps nor citations"):
        open_checked(draft, "", **NOTHING)
    _, opened = open_checked(draft, "", **{**NOTHING, "suggest": True})
    assert not opened.draft.gaps


def test_a_word_file_has_no_keys_and_files_are_not_overwritten(tmp_path: Path) -> None:
    document = Document()
    document.add_paragraph("We parse with trees [CIT].")
    document.save(str(tmp_path / "paper.docx"))
    assert zipfile.is_zipfile(tmp_path / "paper.docx")
    for options, where in (
        ({"patch": tmp_path / "a.patch"}, "--patch"),
        ({"cite_keys": True}, "--cite-keys"),
    ):
        with pytest.raises(InputError, match=f"^{where}: is for drafts with keys"):
            open_checked(tmp_path / "paper.docx", "", **{**NOTHING, **options})
    there = tmp_path / "refs.ris"
    there.write_text("")
    with pytest.raises(InputError, match=r"refs\.ris: is there already"):
        open_checked(tmp_path / "paper.docx", "", **{**NOTHING, "write": True, "references": there})
