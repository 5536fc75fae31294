"""Entries of printed lists of references."""

from __future__ import annotations

import textwrap

import pytest
from helpers.printed_lists import STYLES, listed_papers, printed
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.articles import references
from cocite.corpus.articles.references import reference_of, split_references

ENTRIES = {
    "brackets": [
        "[1] A. Vaswani, N. Shazeer. Attention is all you need. In NeurIPS, pages 5998-6008, 2017.",
        "[2] J. Devlin. BERT: Pre-training of deep bidirectional transformers. 2019. URL x.org/1.",
        "[3] Nobody. A paper. 2001.",
    ],
    "numbers": [
        "1. Vaswani, A., Shazeer, N.: Attention is all you need. In: NeurIPS 30, pp. 5998-6008 (2017)",
        "2. Devlin, J.: BERT: Pre-training of deep bidirectional transformers. In: NAACL. pp. 4171-4186",
        "3. Nobody, N.: A paper. Journal 12. 2001",
    ],
    "labels": [
        "[VSP+17] Ashish Vaswani, Noam Shazeer. Attention is all you need. In NeurIPS, pages 5998-6008, 2017.",
        "[Dev19] Jacob Devlin. BERT: Pre-training of deep bidirectional transformers. 2019.",
    ],
    "names as labels": [
        "[Vaswani and Shazeer, 2017] A. Vaswani and N. Shazeer. Attention is all you need. In NeurIPS 30, 2017.",
        "[Devlin, 2019a] Jacob Devlin. BERT: Pre-training of deep bidirectional transformers.",
    ],
    "year behind the authors": [
        "Jacob Devlin, Ming-Wei Chang, Kenton Lee, and Kristina Toutanova. 2019a. BERT: Pre-training of deep "
        "bidirectional transformers for language understanding. In Proceedings of the 2019 Conference of the North "
        "American Chapter of the Association for Computational Linguistics. Association for Computational Linguistics.",
        "Laurens van der Maaten and Geoffrey Hinton. 2008. Visualizing data using t-SNE. Journal of Machine Learning "
        "Research, 9:2579-2605.",
        "OpenAI Team. 2023. A technical report.",
    ],
    "year in brackets": [
        "Devlin, J., Chang, M.-W., Lee, K., & Toutanova, K. (2019). BERT: Pre-training of deep bidirectional "
        "transformers for language understanding. Proceedings of NAACL, 1, 4171-4186.",
        "van der Maaten, L., & Hinton, G. (2008). Visualizing data using t-SNE. Journal of Machine Learning Research, "
        "9, 2579-2605.",
        "Zipf, G. K. (1949). Human behavior and the principle of least effort.",
    ],
    "year at the end": [
        "J. Devlin, M.-W. Chang, and K. Lee. BERT: Pre-training of deep bidirectional transformers for language "
        "understanding. In Proceedings of NAACL, pages 4171-4186, 2019.",
        "L. van der Maaten and G. Hinton. Visualizing data using t-SNE. Journal of Machine Learning Research, "
        "9:2579-2605, 2008.",
        "G. Zipf, A. Other. Human behavior and the principle of least effort. Addison-Wesley, Cambridge, MA, 1949.",
    ],
}


def bare(text: str) -> str:
    """A text without what the end of a line may take from it."""
    return text.replace(" ", "").replace("-", "")


@pytest.mark.parametrize("style", ENTRIES)
@pytest.mark.parametrize("width", [40, 60, 80])
def test_styles(style: str, width: int) -> None:
    entries = ENTRIES[style]
    found = split_references([line for entry in entries for line in textwrap.wrap(entry, width)])
    whole = [
        f"[{one.label}]{one.text}" if entry[0] == "[" else one.text
        for one, entry in zip(found, entries, strict=True)
    ]
    wanted = [entry[3:] if style == "numbers" else entry for entry in entries]
    assert list(map(bare, whole)) == list(map(bare, wanted))
    assert found[0].surname in ("vaswani", "devlin")


def test_labels() -> None:
    assert [one.label for one in split_references(ENTRIES["numbers"])] == ["1", "2", "3"]
    assert [one.label for one in split_references(ENTRIES["labels"])] == ["VSP+17", "Dev19"]
    assert [one.years for one in split_references(ENTRIES["names as labels"])] == [("2017",), ("2019a",)]


def test_years() -> None:
    behind, *_ = split_references(ENTRIES["year behind the authors"])
    assert behind.years == ("2019a", "2019")
    assert reference_of("A. Lee. Trees of 1999. ACL, 2001.", "", year_last=True).years == ("2001", "1999")


def test_numbers_that_number_nothing() -> None:
    lines = [
        "[1] A. Lee. Trees.",
        "[17] times as many.",
        "[2] B. Kim. Graphs.",
        "[2] again.",
        "[5] C. Wu. Sets.",
    ]
    assert [one.text for one in split_references(lines)] == [
        "A. Lee. Trees. [17] times as many.",
        "B. Kim. Graphs. [2] again.",
        "C. Wu. Sets.",
    ]
    lines = ["Ann Lee. 1999. Trees and", "their roots, a study in", "several parts of", "1. Paris."]
    assert [one.label for one in split_references(lines)] == [""]


def test_what_is_no_list() -> None:
    assert split_references([]) == []
    assert split_references(["We thank everybody.", "It was fun."]) == []


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "MAX_REFERENCES", 2)
    monkeypatch.setattr(references, "MAX_CHARS", 30)
    found = split_references([f"[{n}] A. Lee. " + "trees " * 10 for n in range(1, 5)])
    assert [len(one.text) for one in found] == [30, 30]
    monkeypatch.setattr(references, "MAX_LIST_CHARS", 59)
    assert len(split_references([f"[{n}] A. Lee. " + "trees " * 10 for n in range(1, 5)])) == 1


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("width", [50, 80])
def test_lists_of_many_entries(style: str, width: int) -> None:
    right = wanted = 0
    for papers in listed_papers():
        entries = printed(style, papers, width)
        found = {bare(one.text) for one in split_references([line for entry in entries for line in entry])}
        texts = [bare("".join(entry)) for entry in entries]
        right += sum(any(text.endswith(one) and len(one) > len(text) - 5 for one in found) for text in texts)
        wanted += len(entries)
    assert right >= (1.0 if style in ("ieee", "lncs", "elsevier", "vancouver") else 0.99) * wanted


@given(st.lists(st.text("aA1.,[]( 209", max_size=30), max_size=12))
def test_any_lines_are_divided(lines: list[str]) -> None:
    found = split_references(lines)
    letters = sum(len(bare(line)) for line in lines)
    assert sum(len(bare(one.text)) for one in found) <= letters
