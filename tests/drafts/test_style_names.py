"""Styles by their names, as the real package of CSL's styles has them."""

from __future__ import annotations

import pytest

from cocite.corpus.records import PaperRecord
from cocite.drafts.reference_styles import ReferenceStyle
from cocite.drafts.style_names import DEFAULT_STYLE, SHORT_NAMES, is_style, style_file
from cocite.errors import InputError, NotFoundError

LEE = PaperRecord("lee", "On trees", "", 1999, "ACL", ("Ann Lee", "Bo Kim"), doi="10.1000/182")


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("acl", "Ann Lee and Bo Kim. 1999. On trees."),
        ("acm", "[1] Lee, A. and Kim, B. 1999. On trees."),
        ("apa", "Lee, A., & Kim, B. (1999). On trees."),
        ("chicago", "Lee, A., and B. Kim. 1999. “On Trees”."),
        ("harvard", "Lee, A. and Kim, B. (1999) “On trees”,"),
        ("ieee", "[1] A. Lee and B. Kim, “On trees”,"),
        ("nature", "1. Lee, A. & Kim, B. On trees."),
        ("vancouver", "1. Lee A, Kim B. On trees."),
    ],
)
def test_each_short_name_is_a_style_that_citeproc_can_use(name: str, reference: str) -> None:
    assert ReferenceStyle.named(name).references([LEE])[0].text.startswith(reference)


def test_the_short_names_stand_for_names_of_the_repository() -> None:
    assert [style_file(name).stem for name in SHORT_NAMES] == [*SHORT_NAMES.values()]
    assert style_file(DEFAULT_STYLE) == style_file("harvard") == style_file("HARVARD")


def test_a_journal_has_the_style_that_its_own_depends_on() -> None:
    assert style_file("nature-physics").name == "nature.csl"
    assert ReferenceStyle.named("nature-physics").references([LEE])[0].text.startswith("1. Lee, A.")


@pytest.mark.parametrize(
    "name", ["", "no-such-style", "../ieee", "/etc/passwd", "ieee.csl", "x" * 500, "a\0b", "é"]
)
def test_what_is_no_name(name: str) -> None:
    assert not is_style(name)
    with pytest.raises(
        NotFoundError, match="no such file or style .*some are acl, acm, apa, chicago, harvard"
    ):
        style_file(name)


def test_a_style_without_a_list_of_references_is_refused() -> None:
    with pytest.raises(InputError, match="art-history: has no bibliography"):
        ReferenceStyle.named("art-history")
