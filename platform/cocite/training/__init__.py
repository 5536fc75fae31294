"""The parts that trainings share, whatever the system: the engine, periods, and the comparison of stages.

| module | is |
| --- | --- |
| ``engine`` | one loop for every task: one process or many, checkpoints, the best weights by the dev metric |
| ``periods`` | which papers train, which tune, and what is known before them |
| ``neighbour_search`` | the nearest papers of very many queries, exhaustively or by inverted lists |
| ``gaps``, ``bundles`` | the contexts that ask, and examples of several contexts of one paper |
| ``candidates`` | the candidates that a reranker is trained on |
| ``input_artifacts`` | finds what a kind is trained on besides the corpus |
| ``measure``, ``stages`` | dev metrics, and whether a stage orders candidates no worse than the one before it |

No module of this package knows a system.
"""
