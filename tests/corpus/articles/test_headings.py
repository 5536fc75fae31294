"""Lines that say what follows."""

from __future__ import annotations

import pytest

from cocite.corpus.articles import headings


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Abstract", {"is_abstract_heading"}),
        ("ABSTRACT.", {"is_abstract_heading"}),
        ("Abstract machines", set()),
        ("References", {"is_references_heading"}),
        ("VII. REFERENCES", {"is_references_heading", "is_section_heading"}),
        ("6. Bibliography", {"is_references_heading"}),
        ("References help.", set()),
        ("Acknowledgements", {"begins_behind_references", "is_section_heading"}),
        ("Appendix A: Proofs", {"begins_behind_references"}),
        ("1 Introduction", {"is_introduction_heading", "is_section_heading"}),
        ("I. INTRODUCTION", {"is_introduction_heading", "is_section_heading"}),
        ("4 Related Work", {"is_section_heading"}),
        ("Results and discussion", {"is_section_heading"}),
        ("Results are good.", set()),
        ("III. TREES AND GRAPHS", {"is_section_heading"}),
        ("III. Trees and graphs", set()),
    ],
)
def test_what_a_line_is(line: str, names: set[str]) -> None:
    tests = (
        headings.is_abstract_heading,
        headings.is_references_heading,
        headings.begins_behind_references,
        headings.is_introduction_heading,
        headings.is_section_heading,
    )
    assert {test.__name__ for test in tests if test(line)} == names
