"""What is known of LaTeX's macros."""

from __future__ import annotations

import pytest

from cocite.drafts.latex_macros import ARGUMENTS, HEAD, IMPORTS, INPUTS, SECTIONS, UNPRINTED
from cocite.drafts.reading import read_text

PRINTED = {*HEAD, *INPUTS, *IMPORTS, *SECTIONS, "footnote", "caption", "todo", "par", "item", "bibliography"}


def test_nothing_is_both_read_and_left_out() -> None:
    assert {"date"} == PRINTED & UNPRINTED  # which is read before it is left out


@pytest.mark.parametrize("name", sorted(UNPRINTED - {"citestyle", "setcitestyle", "nocite"}))
def test_commands_of_the_layout_are_no_words_of_a_query(name: str) -> None:
    arguments = "".join("{x}" for kind in ARGUMENTS.get(name, "") if kind == "{")
    [gap] = read_text(f"Trees grow. \\{name}{arguments} Words [CIT] end.", "latex").gaps
    assert gap.context == "Trees grow. Words TARGETCIT end."
