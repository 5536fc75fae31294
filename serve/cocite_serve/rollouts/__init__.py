"""How a newer model or index comes to be served: it has to prove itself beside the release that is served now.

In the order of reading:

| module | is |
| --- | --- |
| :mod:`cocite_serve.rollouts.watcher` | looks for newer versions and rolls them out; remembers what was refused |
| :mod:`cocite_serve.rollouts.beside` | follows a second release, which stays beside the served one |
| :mod:`cocite_serve.rollouts.outcomes` | counts how rollouts ended |
| :mod:`cocite_serve.rollouts.rollout` | loads a release beside the served one, tries it, and turns the gateways to it |
| :mod:`cocite_serve.rollouts.errors` | why a release is not served |
| :mod:`cocite_serve.rollouts.golden_trial` | asks a release golden queries, and judges the answers |
| :mod:`cocite_serve.rollouts.asked_stages` | the stages of a release as the endpoint's own process asks them |
| :mod:`cocite_serve.rollouts.canary_run` | a canary from beginning to end |
| :mod:`cocite_serve.rollouts.canary_verdict` | whether a canary goes on, by what the gateways counted |
"""
