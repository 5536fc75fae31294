"""What an index of a size that nobody has built yet would take, computed from sizes that were measured.

To be read in this order:

| module | what it does |
| --- | --- |
| :mod:`~cocite.retrieval.sizing.figures` | the measured indexes, read from ``figures.json`` |
| :mod:`~cocite.retrieval.sizing.growth` | fits how bytes, seconds and milliseconds grow |
| :mod:`~cocite.retrieval.sizing.needs` | what the coordinator and each shard of an index need |
| :mod:`~cocite.retrieval.sizing.machines` | how many shards and machines that makes |
"""
