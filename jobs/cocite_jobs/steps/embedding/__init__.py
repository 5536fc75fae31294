"""Papers' vectors of all of a corpus, by any encoder, made in blocks of rows on one machine or on many.

| module | is |
| --- | --- |
| :mod:`cocite_jobs.steps.embedding.blocks` | makes a block: opens corpus and encoder once a worker, writes a file |
| :mod:`cocite_jobs.steps.embedding.peak` | what a core or a GPU could compute |
| :mod:`cocite_jobs.steps.embedding.effort` | adds up what the blocks took: rates and utilisation |
| :mod:`cocite_jobs.steps.embedding.embed` | divides the corpus, runs the blocks, writes the manifest |

:class:`cocite.retrieval.stored_vectors.StoredVectors` reads the result.
"""
