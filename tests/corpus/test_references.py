from __future__ import annotations

import json
import re

import rispy
from helpers.odd_papers import of_real_shape

from cocite.corpus.bibtex import citation_keys
from cocite.corpus.references import FORMS


def test_a_paper_has_one_key_in_every_form() -> None:
    papers = of_real_shape(50)
    written = {name: form.write(papers) for name, form in FORMS.items()}
    keys = citation_keys(papers)
    assert len(set(keys)) == 50
    assert re.findall(r"^@\w+\{(\w+),$", written["bibtex"], re.MULTILINE) == keys
    assert [one["id"] for one in rispy.loads(written["ris"])] == keys
    assert [item["id"] for item in json.loads(written["csl-json"])] == keys
