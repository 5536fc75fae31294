"""The tables of the papers, for any corpus and model folder.

| module | is |
| --- | --- |
| :mod:`cocite_jobs.tables.citeomatic` | Citeomatic, Tables 2, 3 and 4 |
| :mod:`cocite_jobs.tables.citeomatic_variants` | trains the variants of Table 3 and of Table 2's metadata rows |
| :mod:`cocite_jobs.tables.reranking` | those of HAtten + SciBERT and of BM25 + SciBERT |
| :mod:`cocite_jobs.tables.cocitation` | MP-BERT4CR, Tables 3 and 4, and recall by earlier co-citations |
| :mod:`cocite_jobs.tables.cocitation_systems` | the models and baselines of those tables |
| :mod:`cocite_jobs.tables.cocitation_variants` | trains the variants of Table 4 |
"""
