"""Engines that score documents for texts or vectors; they know nothing of corpora, histories or queries' fields.

To be read in this order:

| module | what it does |
| --- | --- |
| :mod:`~cocite.retrieval.engines.bm25_weights` | weighs words in documents: Lucene's formula, and the bm25s library |
| :mod:`~cocite.retrieval.engines.bm25` | BM25 over any list of texts, which can grow, be narrowed and be grouped |
| :mod:`~cocite.retrieval.engines.bm25_changes` | documents that leave it or change, under the same statistics |
| :mod:`~cocite.retrieval.engines.matrices` | the sparse matrices that BM25 is made of |
| :mod:`~cocite.retrieval.engines.packed_counts` | word counts of documents, two fields side by side, and their files |
| :mod:`~cocite.retrieval.engines.bm25_fields` | settings: k1 and b of each field of the papers |
| :mod:`~cocite.retrieval.engines.anchor_texts` | BM25 over all contexts that cite a paper, as one document |
| :mod:`~cocite.retrieval.engines.vectors` | nearest vectors, on FAISS |
"""
