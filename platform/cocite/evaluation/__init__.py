"""Evaluation: tasks, metrics, significance, slices, and the published tables.

To be read in this order:

| module | what it does |
| --- | --- |
| :mod:`~cocite.evaluation.tasks` | the queries of a corpus with the papers that should be retrieved |
| :mod:`~cocite.evaluation.queries` | queries of a JSONL file |
| :mod:`~cocite.evaluation.hits` | reduces a ranking to the ranks of the relevant papers |
| :mod:`~cocite.evaluation.metrics` | P, R, F1, MRR and MAP of those ranks |
| :mod:`~cocite.evaluation.reference_metrics` | the same through ir_measures, to check a run |
| :mod:`~cocite.evaluation.experiment` | ranks a task with a system, batch by batch |
| :mod:`~cocite.evaluation.trec` | run and qrels files |
| :mod:`~cocite.evaluation.ranked_file` | ranks a file of queries into a run |
| :mod:`~cocite.evaluation.run_files` | evaluates a run file against qrels |
| :mod:`~cocite.evaluation.significance` | the paired t-test of two runs |
| :mod:`~cocite.evaluation.slices`, :mod:`~cocite.evaluation.cocitation` | metrics of parts of the queries |
| :mod:`~cocite.evaluation.report`, :mod:`~cocite.evaluation.cocitation_report` | tables |
| :mod:`~cocite.evaluation.baselines`, :mod:`~cocite.evaluation.citeomatic` | systems that only an evaluation needs |
| :mod:`~cocite.evaluation.systems` | the systems of a model folder, by name |
| :mod:`~cocite.evaluation.oracle` | reranking by itself: oracle candidates, many depths at once |
"""
