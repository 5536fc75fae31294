"""The losses of MP-BERT4CR."""
