"""Parts of neural networks that several systems share.

| module | content |
| --- | --- |
| ``attention`` | attention over padded sequences |
| ``varlen_attention`` | attention over sequences one after the other by flash kernels of a GPU, with dropout |
| ``packed_attention`` | attention over packed sequences of states, without padding |
| ``packed_bert`` | a BERT-like backbone over packed pairs of texts, trainable |
| ``frozen_bert`` | the same backbone with frozen weights on a CPU, faster |
| ``cpu_kernels`` | dense layers on a CPU by the fastest library and precision, measured |
| ``cpu_threads`` | batches of a token budget, and threads with a core each that compute them |
| ``precision`` | the precision in which a model is fastest on this machine |
| ``variables`` | variables of the environment that change how a process computes |
| ``pretrained_transformers`` | pretrained encoders of Hugging Face: loading, leaving out layers, dropout |
| ``hub`` | whether a model can be loaded from this machine's cache or a model hub |
| ``weight_files`` | settings and weights as files of an artifact |
| ``softmax_losses`` | cross-entropy over many candidates |
| ``word2vec`` | word vectors trained with word2vec, and kept in a model folder |
| ``word_vectors`` | initial word vectors of a :class:`~cocite.text.paragraph_reader.ParagraphReader`'s words |
| ``pretrained_vectors`` | word vectors from a text file |
"""
