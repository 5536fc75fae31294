"""The deployments on Ray Serve. Each replica is a process; a request makes one call to each of the two stages.

In the order of reading:

| module | is |
| --- | --- |
| :mod:`cocite_serve.replicas.stages` | retriever and reranker: each one stage of the library, in one computing thread |
| :mod:`cocite_serve.replicas.compute_thread` | the one thread of a replica that computes |
| :mod:`cocite_serve.replicas.shards` | a shard of an index, where it has some, and how the stages ask all of them |
| :mod:`cocite_serve.replicas.names` | names of the Ray Serve applications |
| :mod:`cocite_serve.replicas.gateway` | the HTTP process, which calls the two stages of one release |
| :mod:`cocite_serve.replicas.applications` | the Ray Serve applications that are made of them |
"""
