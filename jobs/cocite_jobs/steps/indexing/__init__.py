"""The build of an index whose shards are made side by side.

| module | is |
| --- | --- |
| :mod:`cocite_jobs.steps.indexing.shard_parts` | makes a part: opens the corpus once a worker |
| :mod:`cocite_jobs.steps.indexing.remote_files` | what parts write, in an object store |
| :mod:`cocite_jobs.steps.indexing.remote_version` | a version that is made in an object store |
| :mod:`cocite_jobs.steps.indexing.build_index` | runs the stages, and makes a version of what they wrote |

The parts themselves are the library's (:mod:`cocite.retrieval.index.shard_build`).
"""
