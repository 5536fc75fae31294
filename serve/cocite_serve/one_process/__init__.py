"""The endpoint in one process, without Ray: for one machine whose endpoint is asked by a few people.

The API, the page, the stages with their queues, and the watching for newer versions and their canaries are those of
the endpoint on Ray Serve. What needs several processes is not there: replicas, shards in processes of their own.

| module | is |
| --- | --- |
| :mod:`cocite_serve.one_process.handles` | calls a stage as Ray Serve's handle of a replica does |
| :mod:`cocite_serve.one_process.metrics` | what Prometheus reads of this process |
| :mod:`cocite_serve.one_process.stages` | the stages of the release that is served, and turns to another one |
| :mod:`cocite_serve.one_process.endpoint` | starts and stops the endpoint |
"""
