"""OpenTelemetry traces of requests through the processes of an endpoint, and the ids of the requests in their logs.

- :mod:`~cocite_serve.tracing.origins`: which requests a thread or task works for, and how another process learns it.
- :mod:`~cocite_serve.tracing.spans`: one span in the trace of each of these requests.
- :mod:`~cocite_serve.tracing.exporting`: where spans go; without a collector OpenTelemetry's exporter is not imported.
"""
