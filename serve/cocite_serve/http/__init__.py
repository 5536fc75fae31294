"""The HTTP API. Its two stages are a :class:`~cocite_serve.http.api.Backend`, so that it runs in a test without Ray.

In the order of reading:

| module | is |
| --- | --- |
| :mod:`cocite_serve.http.schemas` | requests and responses, as the API's documentation shows them |
| :mod:`cocite_serve.http.manuscript` | finds title, abstract and the gap's context in a pasted text |
| :mod:`cocite_serve.http.papers` | the papers of an index snapshot by id and by row |
| :mod:`cocite_serve.http.conversion` | a request becomes a query, recommendations become a response |
| :mod:`cocite_serve.http.problems` | limits, and each error as a status and one sentence |
| :mod:`cocite_serve.http.web` | body limit, security headers, the web page's files |
| :mod:`cocite_serve.http.api` | the application: all paths |
"""
