"""Model folders as repositories of the Hugging Face hub, and back.

Order of reading: ``parts`` (which parts of a model folder are exported), ``forms`` (the files by which transformers and
sentence-transformers load a part), ``tensor_names`` (tensors of a file under other names), ``usage`` (code that loads
each part), ``card`` (the model card), ``repository`` (the export and the import).
"""
