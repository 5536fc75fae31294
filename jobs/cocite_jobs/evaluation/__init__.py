"""Evaluation jobs: they measure a run file or the systems of a model folder, and write the report.

| module | is |
| --- | --- |
| :mod:`cocite_jobs.evaluation.run_file` | judges a TREC run, alone and against another |
| :mod:`cocite_jobs.evaluation.pipeline` | ranks a task's queries with each system of a model folder |
| :mod:`cocite_jobs.evaluation.report_files` | writes a report as JSON and Markdown |

The tables of the papers are made by :mod:`cocite_jobs.tables`; metrics, tasks and reports are the library's
(:mod:`cocite.evaluation`).
"""
