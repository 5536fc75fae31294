"""NNSelect: papers and queries as vectors of their words (Citeomatic, section 3.1).

In reading order: ``network``, with the ``text_encoders`` that section 5 tries; ``encoder``, which serving uses;
``recipe``; ``task``, the task that a recipe makes, of ``in_batch_task`` or ``triplet_task``, which share ``base_task``.
"""
