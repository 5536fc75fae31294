"""The address of a paper's page on the web, as its ids name it.

The web page links a paper by the same rule: a test gives both the same papers, and compares this address with the first
of ``links`` in ``static/links.js``.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from cocite.corpus.arxiv import arxiv_number
from cocite.corpus.importers.values import bare_doi

_ACL = re.compile(r"[A-Z]\d{2}-\d{4,5}|\d{4}\.[a-z0-9_]+-[a-z0-9]+\.\d+", re.ASCII)
_S2_HASH = re.compile(r"[0-9a-f]{40}")
_S2_NUMBER = re.compile(r"(?:CorpusId|S2):(\d+)", re.ASCII | re.IGNORECASE)
_OPENALEX = re.compile(r"(?:https://openalex\.org/)?(W\d{4,})", re.ASCII)


def paper_address(id_: str, doi: str) -> str:
    """Where a paper is shown: by its DOI, or else by an id of the ACL Anthology, arXiv, Semantic Scholar or OpenAlex.

    The version of a preprint is left out: the corpus takes all versions for one paper, and arXiv's page shows the
    newest and names the others.

    Args:
        id_: of the corpus.
        doi: its DOI; "" where it has none.

    Returns:
        An address of letters, digits and ``-._~%/:`` alone, which fits into HTML and Markdown as it is; "" where no id
        is of a known kind.

    Example:
        >>> paper_address("P02-1040", "10.3115/1073083.1073135")
        'https://doi.org/10.3115/1073083.1073135'
        >>> paper_address("P02-1040", ""), paper_address("arXiv:1706.03762v5", ""), paper_address("lee99", "")
        ('https://aclanthology.org/P02-1040', 'https://arxiv.org/abs/1706.03762', '')
    """
    if bare := bare_doi(doi):
        # Quoted whole, a DOI cannot leave the address that it is put into.
        return f"https://doi.org/{quote(bare)}"
    if _ACL.fullmatch(id_):
        return f"https://aclanthology.org/{id_}"
    if number := arxiv_number(id_):
        return f"https://arxiv.org/abs/{number}"
    if _S2_HASH.fullmatch(id_):
        return f"https://www.semanticscholar.org/paper/{id_}"
    if found := _S2_NUMBER.fullmatch(id_):
        return f"https://www.semanticscholar.org/p/{found[1]}"
    if found := _OPENALEX.fullmatch(id_):
        return f"https://openalex.org/{found[1]}"
    return ""
