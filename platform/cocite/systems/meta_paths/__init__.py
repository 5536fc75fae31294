"""L2-LR and ClusCite: models over counts of paths between papers, baselines of Citeomatic (Tables 2 and 10).

A *meta-path* is a sequence of types: papers P, and terms, authors, venues or keyphrases X, joined by *has*, *cites* and
*is cited by*. How strongly a query is joined to a candidate by the paths of one type is a feature.

- X. Yu, Q. Gu, M. Zhou, J. Han, "Citation Prediction in Heterogeneous Bibliographic Networks", SDM 2012: L2-LR.
- X. Ren, J. Liu, X. Yu, U. Khandelwal, Q. Gu, L. Wang, J. Han, "ClusCite: Effective Citation Recommendation by
  Information Network-Based Clustering", KDD 2014: ClusCite. L2-LR is a baseline there, over the paths that are used
  here.

Order of reading: ``features`` (the paths), ``l2_lr`` (a logistic regression, the pairs that it is fitted to, and how it
ranks), ``cluscite`` (interest groups with weights and authorities of their own).
"""
