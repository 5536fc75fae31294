"""The systems that MP-BERT4CR is measured against: word and document vectors trained on citing contexts."""
