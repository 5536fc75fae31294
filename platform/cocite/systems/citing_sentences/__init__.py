"""Which sentences of a text need a citation: a linear classifier of hashed words, trained on which sentences cite.

The task is citation worthiness (Bonab et al. 2018, "Citation Worthiness of Sentences in Scientific Reports"; Zeng and
Acuna 2020, "Modeling citation worthiness"). In order of reading: ``citations`` finds the citations of a sentence and
removes them, ``examples`` makes labelled sentences of a corpus, ``features`` makes a sparse vector of each sentence,
``classifier`` weighs the vectors, and ``recipe`` and ``task`` train and measure it.
"""
