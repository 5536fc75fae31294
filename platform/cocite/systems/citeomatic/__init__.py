"""Citeomatic: neighbours in an embedding space, put in order by a network that sees each pair.

Bhagavatula, Feldman, Power, Ammar: "Content-Based Citation Recommendation", NAACL 2018. Sections, equations, tables
and appendices named in this package are that paper's.

NNSelect embeds papers and queries by the words of title and abstract; NNRank orders NNSelect's neighbours and what they
cite. To read the package:

1. ``word_bags``: bags of words, and the vectors of their words, which both networks use.
2. ``nnselect_network`` and ``nnrank_network``: the two networks.
3. ``nnselect_encoder`` and ``nnrank_reranker``: the networks as an encoder and a reranker; ``model_files`` writes and
   reads their artifacts. Serving imports these, and nothing below.
4. ``losses`` and ``negatives``: what is minimised, and the papers that a query does not cite.
5. ``nnselect_recipe`` and ``nnrank_recipe``: the settings of the two trainings; ``training_settings`` holds what they
   share.
6. ``nnselect_task``: the task that a recipe makes, of ``nnselect_in_batch_task`` or ``nnselect_triplet_task``, which
   share ``nnselect_base_task``.
7. ``nnrank_task``: the same of ``nnrank_listwise_task`` or ``nnrank_triplet_task`` and ``nnrank_base_task``; with
   ``nnrank_candidates`` (what it orders), ``citations_before`` (what a query of a year may count) and ``cross_fitting``
   (NNSelect's similarities of papers that it was not trained on).
"""
