"""MP-BERT4CR: a hierarchical bi-encoder trained with several positive papers for each citation.

Yang Zhang and Qiang Ma (2021): Recommending Multiple Positive Citations for Manuscript via Content-Dependent Modeling
and Multi-Positive Triplet. WI-IAT 2021. Sections, equations and symbols in the docstrings are this paper's. Its
transformer is HIBERT's: Xingxing Zhang, Furu Wei and Ming Zhou (2019): HIBERT: Document Level Pre-training of
Hierarchical Bidirectional Transformers for Document Summarization. ACL 2019.

Read the modules in this order:

| module | content |
| --- | --- |
| ``tied_embedding`` | word vectors that embed tokens and predict them |
| ``hierarchical_transformer`` | tokens to sentence vectors, sentence vectors to document vectors (section 4) |
| ``network`` | the encoder of manuscripts and the encoder of cited papers (section 4.1.2) |
| ``dynamic_context`` | draws the sentences that a document consists of (section 4.1.1) |
| ``encoder_inputs`` | papers and queries of any corpus as such documents |
| ``encoder`` | the trained network as an :class:`~cocite.protocols.Encoder`; saves and loads it |
| ``losses`` | the triplet and the multi-positive triplet losses (Eq. 3 to 6) |
| ``cocitations`` | draws further positives by co-citation (Eq. 1) |
| ``sentence_texts`` | a corpus' sentences as tokens, an artifact of the model folder |
| ``trunk`` | a frozen pretrained encoder of sentences |
| ``sentence_memory`` | what it has computed, for further models that have it |
| ``sentence_vectors`` | its vectors of the sentences that may be drawn: an artifact of the model folder |
| ``trunk_projection`` | these vectors as inputs of the layers over sentences |
| ``token_vectors``, ``token_weights`` | initial word vectors, and their weights: artifacts of the model folder |
| ``recipe`` | all settings of a training |
| ``examples`` | citations with their positives and negatives, and their batches |
| ``own_negatives_task`` | the objective of the paper: each example has negatives of its own |
| ``shared_negatives_task`` | all papers of a step are negatives of all its examples |
| ``hierarchy_share`` | how much the layers count in what was trained |
| ``initial_weights`` | pretrained weights and word vectors put into the network |
| ``task`` | builds the task of a recipe |
| ``pretraining`` | pretraining of the encoder on hidden sentences (HIBERT, section 3.2) |
"""
