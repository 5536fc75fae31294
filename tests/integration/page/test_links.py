"""Where the page says that a paper is shown on the web."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.paper_addresses import ADDRESSES

pytestmark = pytest.mark.integration
S2 = "https://api.semanticscholar.org"
LINKS = [
    ({"id": "P02-1040", "doi": ""}, {"ACL Anthology": "https://aclanthology.org/P02-1040"}),
    ({"id": "2020.acl-main.5", "doi": ""}, {"ACL Anthology": "https://aclanthology.org/2020.acl-main.5"}),
    (
        {"id": "x", "doi": "10.18653/v1/N19-1423"},
        {
            "DOI": "https://doi.org/10.18653/v1/N19-1423",
            "ACL Anthology": "https://aclanthology.org/N19-1423",
            "Semantic Scholar": f"{S2}/DOI:10.18653/v1/N19-1423",
        },
    ),
    (
        {"id": "x", "doi": "https://doi.org/10.48550/arXiv.1706.03762"},
        {
            "DOI": "https://doi.org/10.48550/arXiv.1706.03762",
            "arXiv": "https://arxiv.org/abs/1706.03762",
            "Semantic Scholar": f"{S2}/arXiv:1706.03762",
        },
    ),
    (
        {"id": "x", "doi": "10.3115/v1/W14-4012"},
        {
            "DOI": "https://doi.org/10.3115/v1/W14-4012",
            "ACL Anthology": "https://aclanthology.org/W14-4012",
            "Semantic Scholar": f"{S2}/DOI:10.3115/v1/W14-4012",
        },
    ),
    (
        {"id": "arXiv:1706.03762v5", "doi": ""},
        {"arXiv": "https://arxiv.org/abs/1706.03762", "Semantic Scholar": f"{S2}/arXiv:1706.03762"},
    ),
    (
        {"id": "cs/0112017", "doi": ""},
        {"arXiv": "https://arxiv.org/abs/cs/0112017", "Semantic Scholar": f"{S2}/arXiv:cs/0112017"},
    ),
    (
        {"id": "ab" * 20, "doi": ""},
        {"Semantic Scholar": f"https://www.semanticscholar.org/paper/{'ab' * 20}"},
    ),
    (
        {"id": "CorpusId:13756489", "doi": "10.1145/361219.361220"},
        {
            "DOI": "https://doi.org/10.1145/361219.361220",
            "Semantic Scholar": "https://www.semanticscholar.org/p/13756489",
        },
    ),
    (
        {"id": "x", "doi": "10.1000/a#b?c"},
        {"DOI": "https://doi.org/10.1000/a%23b%3Fc", "Semantic Scholar": f"{S2}/DOI:10.1000/a%23b%3Fc"},
    ),
    ({"id": "W2963403868", "doi": ""}, {"OpenAlex": "https://openalex.org/W2963403868"}),
    ({"id": "devlin2019bert", "doi": ""}, {}),
    (
        {"id": "javascript:alert(1)", "doi": "javascript:alert(1)"},
        {"DOI": "https://doi.org/javascript%3Aalert%281%29"},
    ),
]


def test_links_of_the_identifiers_that_a_paper_has(page: Any) -> None:
    found = links_of(page, [paper for paper, _ in LINKS])
    assert [{one["name"]: one["address"] for one in links} for links in found] == [
        links for _, links in LINKS
    ]


def test_the_best_place_is_that_of_reports_and_notebooks(page: Any) -> None:
    found = links_of(page, [{"id": id_, "doi": doi} for id_, doi, _ in ADDRESSES])
    assert [links[0]["address"] if links else "" for links in found] == [one[2] for one in ADDRESSES]


def links_of(page: Any, papers: list[dict[str, str]]) -> Any:
    """What ``links.js`` has for each paper: names with addresses, the best first."""
    return page.evaluate(
        "async (papers) => { const { links } = await import('/static/links.js'); return papers.map(links); }",
        papers,
    )
