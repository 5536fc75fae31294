"""The HTTP endpoint and its web page: a gateway before two stages on Ray Serve, which follow newer models and indexes.

A request enters a gateway, which checks it and parses the manuscript; the retriever finds candidates, the reranker
orders and explains them. In the order of reading:

| module | is |
| --- | --- |
| :mod:`cocite_serve.http` | the HTTP API: schemas, checks, errors, the web page; knows nothing of Ray |
| :mod:`cocite_serve.comparison` | two releases compared online: shares, team draft, clicks; plain logic |
| :mod:`cocite_serve.replicas` | the deployments on Ray Serve: gateway, retriever, reranker |
| :mod:`cocite_serve.one_process` | the endpoint in one process, without Ray |
| :mod:`cocite_serve.release` | a model over an index snapshot: what is served, or could be |
| :mod:`cocite_serve.model_cache` | verified copies of registered models |
| :mod:`cocite_serve.rollouts.rollout` | loads a release beside the one that is served and switches the gateways to it |
| :mod:`cocite_serve.rollouts.watcher` | looks for newer versions and rolls them out |
| :mod:`cocite_serve.endpoint` | starts all of that on a Ray of its own or on a cluster, and stops it |
| :mod:`cocite_serve.settings` | every setting with its unit |
| :mod:`cocite_serve.cli` | ``cocite serve`` |
"""
