"""Calibrated confidence: the probability that a recommended paper is one of those that are cited.

Isotonic regression: B. Zadrozny and C. Elkan, "Transforming Classifier Scores into Accurate Multiclass Probability
Estimates", KDD 2002. Expected calibration error: M. P. Naeini, G. F. Cooper and M. Hauskrecht, "Obtaining Well
Calibrated Probabilities Using Bayesian Binning", AAAI 2015.

Order of reading: ``calibration`` (scores become probabilities; saved and loaded), ``recipe`` (settings), ``task``
(fitting to dev queries, and simpler methods beside), ``measures`` (calibration error, Brier score, the diagram's
points). :mod:`cocite.pipeline.confidence` decides for which requests a probability is given.
"""
