"""Shards: parts of an index that are searched on their own, in one process or on many machines.

A shard holds the word counts, inverted lists and vectors of a contiguous range of papers and of the contexts in them.
A query takes two rounds. In the first, each shard gives the papers and contexts nearest to the query; whoever
coordinates the search merges them and counts their votes. In the second, each shard finds its own candidates, to which
the voted ones are added, and scores them. Scores do not depend on how the papers are divided, because every shard
weighs words by the statistics of all papers.

To be read in this order:

| module | what it does |
| --- | --- |
| :mod:`~cocite.retrieval.shards.paper_filter` | which papers a query may retrieve, without a mark for each of them |
| :mod:`~cocite.retrieval.shards.messages` | what is asked of a shard in each round, and what it answers |
| :mod:`~cocite.retrieval.shards.shard` | answers both rounds for one range of papers |
| :mod:`~cocite.retrieval.shards.group` | asks all shards; those in this process one after the other |
"""
