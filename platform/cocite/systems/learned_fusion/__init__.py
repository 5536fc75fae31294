"""Learned fusion: LambdaMART over all signals of a candidate.

C. J. C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", Microsoft Research MSR-TR-2010-82, 2010.

Order of reading: ``reranker`` (the trained trees at work), ``recipe`` (settings), ``examples`` (candidates of dev
queries with all their signals), ``task`` (training and measuring). The signals come from the stages before it, through
:class:`~cocite.systems.learned_fusion.examples.CandidateSource`, which :mod:`cocite.pipeline.fusion_candidates`
implements.
"""
