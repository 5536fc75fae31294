"""The systems that MP-BERT4CR is compared with."""
