"""The cross-encoder: a transformer reads query and candidate together and scores the pair.

- N. Gu, Y. Gao, R. H. R. Hahnloser, "Local Citation Recommendation with Hierarchical-Attention Text Encoder and
  SciBERT-based Reranking", ECIR 2022: a query is the context of a gap, with the citing paper's title and abstract.
- R. Nogueira, Z. Jiang, K. Cho, J. Lin, "Navigation-Based Candidate Expansion and Pretrained Language Models for
  Citation Recommendation", Scientometrics 2020: a query is the title and abstract of a paper.

Order of reading: :mod:`cocite.text.pair_tokenizer` (query and candidate as one sequence), ``network``, ``losses``,
``examples`` (groups of candidates), ``random_candidates`` (those that no retriever found), ``pair_tokens`` (what is
trained on, as tokens), ``recipe``, ``task``. Serving: ``reranker`` scores the candidates of queries, by ``pair_scorer``
(many pairs on CPU threads or a GPU) and ``paper_tokens`` (the tokens of papers, cached).
"""
