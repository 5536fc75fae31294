"""Two releases compared online: which requests go where, lists of both in one, and what clicks say. Plain logic.

In the order of reading:

| module | is |
| --- | --- |
| :mod:`cocite_serve.comparison.shares` | which requests, or which clients, belong to a share of the traffic |
| :mod:`cocite_serve.comparison.team_draft` | one list of two rankings, and which of them gave each paper |
| :mod:`cocite_serve.comparison.ledger` | which papers of such lists were clicked, and so which release won |
| :mod:`cocite_serve.comparison.sign_test` | whether one of them wins more often than by chance |
"""
