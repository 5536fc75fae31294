"""Citeomatic: neighbours in an embedding space, put in order by a network that sees each pair.

Bhagavatula, Feldman, Power, Ammar: "Content-Based Citation Recommendation", NAACL 2018. Sections, equations, tables
and appendices named in this package are that paper's.

NNSelect embeds papers and queries by the words of title and abstract; NNRank orders NNSelect's neighbours and what they
cite. To read the package:

1. ``word_bags``: bags of words, and the vectors of their words, which both networks use; ``model_files`` writes and
   reads the artifacts of both.
2. ``nnselect``: network, encoder, recipe and tasks of the embedding.
3. ``nnrank``: network, reranker, recipe and tasks of the second network.
4. ``losses`` and ``negatives``: what is minimised, and papers that a query does not cite; ``training_settings``: the
   defaults that both recipes share.
"""
