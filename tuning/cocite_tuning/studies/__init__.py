"""The studies that a sweep can tune: trainings, and studies without training.

A study without training computes once the scores that all trials share and keeps them, so that a trial is arithmetic.

| kind | tunes | a trial takes |
| --- | --- | --- |
| ``depths`` | K of the first stage, K reranked, the cross-encoder's weight; quality and latency | milliseconds |
| ``neighbours`` | Citeomatic's K neighbours, and whether what they cite is added; quality and latency | milliseconds |
| ``fusion`` | the weights of the first stage's blend | a tenth of a second |
| ``bm25`` | k1, b, the form of the query and the field | a tenth of a second |
| ``trees`` | how the learned fusion's trees are grown (features cached; the trees are trained) | seconds |

All are measured on queries of the dev split, with the history before it. The queries of some manuscripts are held out
from every trial: on them the best trial is compared with the default
(:meth:`~cocite_tuning.studies.score_study.ScoreStudy.confirm`).
"""
