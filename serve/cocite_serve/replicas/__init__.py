"""The deployments on Ray Serve. Each replica is a process; a request makes one call to each of the two stages.

In the order of reading:

| module | is |
| --- | --- |
| :mod:`cocite_serve.replicas.stages` | retriever and reranker: each one stage of the library, behind a queue |
| :mod:`cocite_serve.replicas.scheduler` | the queue: what is computed next, for whom, and who is refused; plain logic |
| :mod:`cocite_serve.replicas.steps` | what a scheduler is told and says: work, steps, a refusal |
| :mod:`cocite_serve.replicas.pace` | how long a unit of work takes, measured |
| :mod:`cocite_serve.replicas.worker` | drives a scheduler: an event loop enqueues, a thread computes |
| :mod:`cocite_serve.replicas.batch_metrics` | what a replica tells Prometheus of its queue and its chunks |
| :mod:`cocite_serve.replicas.query_blocks` | what the retriever computes: blocks of queries |
| :mod:`cocite_serve.replicas.pair_chunks` | what the reranker computes: chunks of pairs |
| :mod:`cocite_serve.replicas.compute_thread` | the one thread of a replica that computes |
| :mod:`cocite_serve.replicas.shards` | a shard of an index, where it has some, and how the stages ask all of them |
| :mod:`cocite_serve.replicas.names` | names of the Ray Serve applications |
| :mod:`cocite_serve.replicas.gateway` | the HTTP process, which calls the two stages of one release |
| :mod:`cocite_serve.replicas.ray_errors` | errors of calls between replicas, as the API knows them |
| :mod:`cocite_serve.replicas.canary` | a share of the requests for a release on trial |
| :mod:`cocite_serve.replicas.two_releases` | a second release beside the served one: shadow, split, interleaved |
| :mod:`cocite_serve.replicas.moved_rows` | a request to one release for another, whose index has other rows |
| :mod:`cocite_serve.replicas.clicks` | the replica that counts clicks on interleaved answers |
| :mod:`cocite_serve.replicas.release_metrics` | what a gateway tells Prometheus of two releases |
| :mod:`cocite_serve.replicas.applications` | the Ray Serve applications that are made of them |
"""
