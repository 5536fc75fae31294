"""A full text as S2ORC's two releases give it."""

from __future__ import annotations

import json
from typing import Any

BODY = "A title\nWe sum up.\nIntro\nAs shown [1, 2], e.g. by Wu (2000), it works. Others [9] differ.\nEnd"


def full_text(version: int) -> dict[str, Any]:
    """One full text as the first or the second release of S2ORC writes it."""

    def span(text: str, **attributes: Any) -> dict[str, Any]:
        start = BODY.index(text)
        return {"start": start, "end": start + len(text), "attributes": attributes}

    paragraph = "As shown [1, 2], e.g. by Wu (2000), it works. Others [9] differ."
    refs = [
        span("1", ref_id="b0"),
        span("2]", ref_id="b1"),
        span("Wu (2000)", ref_id="b2"),
        span("9", ref_id="b9"),
    ]
    entries = [
        {"start": 0, "end": 1, "attributes": {"id": f"b{i}", "matched_paper_id": 11 + i}} for i in range(3)
    ]
    common = {
        "title": json.dumps([span("A title")]),
        "abstract": json.dumps([span("We sum up.")]),
        "paragraph": json.dumps([span(paragraph)]),
    }
    if version == 1:
        spans = {
            **common,
            "bibref": json.dumps(refs),
            "bibentry": json.dumps(entries),
            "sectionheader": json.dumps([span("Intro")]),
        }
        return {
            "corpusid": 10,
            "externalids": {"doi": "10.1/s"},
            "content": {"text": BODY, "annotations": spans},
        }
    spans = {**common, "bib_ref": json.dumps(refs), "section_header": json.dumps([span("Intro")])}
    bibliography = {"text": "…", "annotations": {"bib_entry": json.dumps(entries)}}
    return {
        "corpusid": 10,
        "title": "A title",
        "body": {"text": BODY, "annotations": spans},
        "bibliography": bibliography,
    }
