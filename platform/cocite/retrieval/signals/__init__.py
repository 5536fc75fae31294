"""Signals of an index' history: what past papers say about each candidate.

To be read in this order:

| module | what it does |
| --- | --- |
| :mod:`~cocite.retrieval.signals.votes` | counts weighted votes of nearest papers or sentences for what they cite |
| :mod:`~cocite.retrieval.signals.neighbours` | the nearest papers vote (Citeomatic's expansion) |
| :mod:`~cocite.retrieval.signals.citing_sentences` | the nearest citation contexts vote, and serve as evidence |
| :mod:`~cocite.retrieval.signals.self_citations` | the query's own links, which every count must leave out |
| :mod:`~cocite.retrieval.signals.anchors` | scores a text against all contexts that cite a paper |
| :mod:`~cocite.retrieval.signals.venue_citations` | what the papers of each venue have cited |
| :mod:`~cocite.retrieval.signals.author_signals` | shared authors, their past citations, venues, mentioned surnames |
"""
