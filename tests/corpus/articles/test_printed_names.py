"""Names at the beginning of printed references."""

from __future__ import annotations

import pytest

from cocite.corpus.articles.printed_names import YEAR, authors_of, first_surname, plain


@pytest.mark.parametrize(
    ("text", "surname"),
    [
        ("Kishore Papineni, Salim Roukos, and Todd Ward. 2002. BLEU.", "Papineni"),
        ("Papineni, K., Roukos, S.: BLEU (2002)", "Papineni"),
        ("Papineni, Kishore, Salim Roukos. BLEU. 2002", "Papineni"),
        ("K. Papineni and S. Roukos, BLEU, 2002", "Papineni"),
        ("Vaswani A, Shazeer N. Attention. 2017", "Vaswani"),
        ("van der Maaten, L. (2008). Visualizing", "Maaten"),
        ("Laurens van der Maaten & Geoffrey Hinton. 2008.", "Maaten"),
        ("T. Mikolov et al. Word vectors. 2013.", "Mikolov"),
        ("J.-B. Michel; Y. Shen. Books.", "Michel"),
        ("OpenAI. 2023. A report.", "OpenAI"),
        ("Lee (2002). Trees.", "Lee"),
        ("", ""),
        (", and", ""),
    ],
)
def test_the_first_author(text: str, surname: str) -> None:
    assert first_surname(text) == surname


def test_the_part_with_authors() -> None:
    assert authors_of("Ann Müller and Bo Kim. 2001a. Trees of 1999.") == "ann muller and bo kim. "
    assert len(authors_of("x" * 1_000)) == 400


def test_years() -> None:
    assert YEAR.findall("In 1999, (2001a), 12001, 20012, 2003-2004, 1850.") == [
        "1999",
        "2001a",
        "2003",
        "2004",
    ]
    assert plain("ÀB") == "ab"
