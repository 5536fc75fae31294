from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import rispy
from helpers.odd_papers import of_real_shape

from cocite.corpus.bibtex import citation_keys
from cocite.corpus.references import FORMS, form_of
from cocite.errors import InputError


@pytest.mark.parametrize("keys_as", ["cocite", "better-bibtex", "authors(1) + year"])
def test_a_paper_has_one_key_in_every_form(keys_as: str) -> None:
    papers = of_real_shape(50)
    written = {name: form.text(papers, keys_as) for name, form in FORMS.items()}
    keys = citation_keys(papers, form=keys_as)
    assert len(set(keys)) == 50
    assert re.findall(r"^@\w+\{([\w-]+),$", written["bibtex"], re.MULTILINE) == keys
    assert [one["id"] for one in rispy.loads(written["ris"])] == keys
    assert [item["id"] for item in json.loads(written["csl-json"])] == keys


def test_the_end_of_a_name_says_the_form() -> None:
    assert [form_of(Path(f"new{end}")).name for end in (".bib", ".RIS", ".json")] == [
        "BibTeX",
        "RIS",
        "CSL-JSON",
    ]
    with pytest.raises(
        InputError, match=r"new\.txt: is no file of references by its name \(end it with one of \.bib"
    ):
        form_of(Path("new.txt"))
