"""NNRank: a network that sees query and candidate together (Citeomatic, section 3.2).

In reading order: ``network``; ``reranker``, which serving uses; ``recipe``; ``task``, the task that a recipe makes, of
``listwise_task`` or ``triplet_task``, which share ``base_task``; with ``candidates`` (what it orders),
``citations_before`` (what a query of a year may count) and ``cross_fitting`` (NNSelect's similarities of papers that it
was not trained on).
"""
