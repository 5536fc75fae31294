"""Retrieving candidates: BM25, vectors, citing sentences and citation expansion over one index.

To be read in this order:

| module | what it does |
| --- | --- |
| :mod:`~cocite.retrieval.engines` | scores any list of texts or vectors: BM25, FAISS, anchor texts |
| :mod:`~cocite.retrieval.index` | builds those engines for a corpus and a history, in memory or in a folder |
| :mod:`~cocite.retrieval.query_forms` | chooses which texts of a query BM25 matches |
| :mod:`~cocite.retrieval.dense_search` | ranks all papers by dense scores, block by block |
| :mod:`~cocite.retrieval.bm25_retriever` | retrieves papers that share words with the query |
| :mod:`~cocite.retrieval.vector_retriever` | retrieves papers whose vectors are near the query's |
| :mod:`~cocite.retrieval.signals` | scores papers by what the history says of them: votes, anchor texts, authors |
| :mod:`~cocite.retrieval.single_shard` | opens one shard of an index without the others, in a process of its own |
| :mod:`~cocite.retrieval.remote_shards` | asks the shards in other processes, and says which of them did not answer |

The first stage (:mod:`cocite.pipeline.first_stage`) blends all of them.
"""
