"""Indexes: all that the first stage searches, in memory or on disk.

To be read in this order:

| module | what it does |
| --- | --- |
| :mod:`~cocite.retrieval.index.parts` | the parts of an index, as values |
| :mod:`~cocite.retrieval.index.documents` | reads the texts that are indexed, and encodes the papers |
| :mod:`~cocite.retrieval.index.name_tables` | the papers of each author, surname and venue |
| :mod:`~cocite.retrieval.index.plan` | plans where each part comes from, and makes it |
| :mod:`~cocite.retrieval.index.index` | the index that retrievers search |
| :mod:`~cocite.retrieval.index.versions` | versions of an artifact in one folder, with locks |
| :mod:`~cocite.retrieval.index.version_writer` | executes a plan into the folder of a new version |
| :mod:`~cocite.retrieval.index.snapshot` | opens, verifies, creates, extends and narrows an index on disk |
| :mod:`~cocite.retrieval.index.successors` | what a version takes over from the one that it is made of |
| :mod:`~cocite.retrieval.index.shard_changes` | writes a shard of a new version from one of the version before |
| :mod:`~cocite.retrieval.index.sharded_versions` | papers join an index in shards, or leave it |
| :mod:`~cocite.retrieval.index.changes` | papers join or leave an index of either kind |
| :mod:`~cocite.retrieval.index.stored_corpus` | links the corpus store into it, with the bodies or without |
| :mod:`~cocite.retrieval.index.reusable_vectors` | looks up vectors in earlier versions |
| :mod:`~cocite.retrieval.index.reuse` | an index in memory that takes what it can from one on disk |
"""
