"""The HTTP API. Its two stages are a :class:`~cocite_serve.http.backend.Backend`; a test runs it without Ray.

In the order of reading:

| module | is |
| --- | --- |
| :mod:`cocite_serve.http.schemas` | requests and responses, as the API's documentation shows them |
| :mod:`cocite_serve.http.manuscript` | finds title, abstract and the gap's context in a pasted text |
| :mod:`cocite_serve.http.deadline` | when an answer has to be there |
| :mod:`cocite_serve.http.papers` | the papers of an index snapshot by id and by row |
| :mod:`cocite_serve.http.conversion` | a request becomes a query, recommendations become a response |
| :mod:`cocite_serve.http.request_context` | a request's id, and what its log line tells |
| :mod:`cocite_serve.http.problem_body` | the body of a refusal |
| :mod:`cocite_serve.http.problems` | limits, and each error as a status and one sentence |
| :mod:`cocite_serve.http.body_limit` | how large and how late a body may be |
| :mod:`cocite_serve.http.token_bucket` | a rate and a daily quota: plain logic |
| :mod:`cocite_serve.http.keys` | API keys: who may ask for what, and how often |
| :mod:`cocite_serve.http.openapi` | what the OpenAPI document says of refusals |
| :mod:`cocite_serve.http.version_schemas` | what the endpoint says of itself |
| :mod:`cocite_serve.http.click_paths` | clicks on answers of two releases, and what they say |
| :mod:`cocite_serve.http.web` | security headers, the web page's files |
| :mod:`cocite_serve.http.api` | the application: all paths |
"""
