"""The systems that MP-BERT4CR is compared with, and those that HAtten is compared with.

Y. Zhang and Q. Ma compare MP-BERT4CR (sections 5.2 and 5.3) with the systems of these papers:

- T. Mikolov, I. Sutskever, K. Chen, G. Corrado, J. Dean, "Distributed Representations of Words and Phrases and their
  Compositionality", NeurIPS 2013 (``word2vec``).
- Q. Le, T. Mikolov, "Distributed Representations of Sentences and Documents", ICML 2014 (``doc2vec``).
- J. Han, Y. Song, W. X. Zhao, S. Shi, H. Zhang, "hyperdoc2vec: Distributed Representations of Hypertext Documents", ACL
  2018 (``hyperdoc2vec``).
- Y. Zhang, Q. Ma, "Dual Attention Model for Citation Recommendation", COLING 2020 (``dacr``).
- M. Pagliardini, P. Gupta, M. Jaggi, "Unsupervised Learning of Sentence Embeddings using Compositional n-Gram
  Features", NAACL 2018 (``sent2vec``).
- T. Ebesu, Y. Fang, "Neural Citation Network for Context-Aware Citation Recommendation", SIGIR 2017 (``ncn``,
  ``ncn_reranker``), which orders candidates.
- Z. Medić, J. Šnajder, "Improved Local Citation Recommendation Based on Context Enhanced with Global Information",
  SDP 2020 (``dual``, ``dual_reranker``): DualCon and DualEnh, which order candidates.
- C. Jeong, S. Jang, E. Park, S. Choi, "A context-aware citation recommendation model with BERT and graph convolutional
  networks", Scientometrics 124, 2020 (``bert_gcn``, ``bert_gcn_reranker``), which orders candidates; with T. Kipf,
  M. Welling, "Variational Graph Auto-Encoders", 2016 (``graph_autoencoder``).
- SciBERT and SPECTER, as any transformer whose states are pooled (``pooled_transformer``).

Order of reading: ``texts`` (what they read), ``manuscripts`` (what they may read besides), ``vectors`` (how they rank),
the systems, ``citing_pairs`` (the pairs and the loss that ``hyperdoc2vec`` and ``dacr`` share), ``sections`` (read by
``dacr``), ``filters``, ``authors`` and ``citation_years`` (what rerankers read of papers besides words), ``train`` (all
of them by name), ``cached_vectors`` (the vectors of an encoder's papers, kept on disk).
"""
