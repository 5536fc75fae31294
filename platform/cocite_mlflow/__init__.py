"""cocite's client of MLflow: runs are logged, models are registered, looked up and downloaded through it.

Jobs and sweeps write through it, the endpoint reads through it; the library ``cocite`` does not import it. Models are
registered as plain artifacts (safetensors, JSON, text): no flavour, hence no pickle. In the order of reading:

| module | is |
| --- | --- |
| :mod:`cocite_mlflow.connection` | which store is meant, the client of it, and its errors as sentences |
| :mod:`cocite_mlflow.values` | metrics and parameters in the form that MLflow accepts |
| :mod:`cocite_mlflow.runs` | one run with its metrics, parameters, tags, files and child runs |
| :mod:`cocite_mlflow.references` | addresses of registered models: ``models:/NAME@ALIAS``, ``models:/NAME/VERSION`` |
| :mod:`cocite_mlflow.registration` | registers a model folder as the next version of a name |
| :mod:`cocite_mlflow.registry` | looks versions up and downloads them, each file verified |
"""
