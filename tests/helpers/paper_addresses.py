"""Papers by id and DOI, and the address that reports, notebooks and the web page all have for them."""

from __future__ import annotations

ADDRESSES = [
    # id, DOI, address
    ("P02-1040", "10.3115/1073083.1073135", "https://doi.org/10.3115/1073083.1073135"),
    ("P02-1040", "https://doi.org/10.3115/1", "https://doi.org/10.3115/1"),
    ("x", " doi: 10.1000/182 ", "https://doi.org/10.1000/182"),
    ("x", "http://dx.doi.org/10.48550/arXiv.1706.03762v5", "https://doi.org/10.48550/arXiv.1706.03762v5"),
    ("x", "10.1/a(b)?c#d", "https://doi.org/10.1/a%28b%29%3Fc%23d"),
    ("x", "10.1/~a!b*c'd;e,f:g@h&i=j+k$l%20 é", "https://doi.org/10.1/~a%21b%2Ac%27d%3Be%2Cf%3Ag%40h%26i%3Dj%2Bk%24l%2520%20%C3%A9"),
    ("x", "javascript:alert(1)", "https://doi.org/javascript%3Aalert%281%29"),
    ("P02-1040", "", "https://aclanthology.org/P02-1040"),
    ("2020.acl-main.12", "", "https://aclanthology.org/2020.acl-main.12"),
    ("2020.acl-main.12v2", "", ""),
    ("P02-1040\n", "", ""),
    ("1706.03762", "", "https://arxiv.org/abs/1706.03762"),
    ("2101.00001v2", "", "https://arxiv.org/abs/2101.00001"),
    ("arXiv:1706.03762v5", "", "https://arxiv.org/abs/1706.03762"),
    ("https://arxiv.org/abs/1706.03762v5", "", "https://arxiv.org/abs/1706.03762"),
    ("10.48550/arXiv.1706.03762", "", "https://arxiv.org/abs/1706.03762"),
    ("cs/0703001", "", "https://arxiv.org/abs/cs/0703001"),
    ("math.GT/0309136v1", "", "https://arxiv.org/abs/math.GT/0309136"),
    ("17060.3762", "", ""),
    ("1706.037621", "", ""),
    ("thesis/1234567", "", ""),
    ("ab" * 20, "", f"https://www.semanticscholar.org/paper/{'ab' * 20}"),
    ("AB" * 20, "", ""),
    ("CorpusId:42", "", "https://www.semanticscholar.org/p/42"),
    ("s2:42", "", "https://www.semanticscholar.org/p/42"),
    ("W2963403868", "", "https://openalex.org/W2963403868"),
    ("https://openalex.org/W12345", "", "https://openalex.org/W12345"),
    ("w12345", "", ""),
    ("vaswani2017attention", "", ""),
    ("javascript:alert(1)", "", ""),
    ("", "", ""),
]  # fmt: skip
"""An empty address: the paper has none."""
