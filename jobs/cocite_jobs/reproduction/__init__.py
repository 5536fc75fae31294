"""The tables and figures of a paper for any corpus, beside the paper's own numbers, as one page.

| module | is |
| --- | --- |
| :mod:`cocite_jobs.reproduction.plan` | what a paper's reproduction is made of: trainings and exhibits |
| :mod:`cocite_jobs.reproduction.citeomatic` and the other three | the plan of each paper |
| :mod:`cocite_jobs.reproduction.baseline_changes` | the settings of the baselines that tables train |
| :mod:`cocite_jobs.reproduction.corpus_exhibit` | Table 1 of each paper |
| :mod:`cocite_jobs.reproduction.mp_bert4cr_controls` | MP-BERT4CR's hierarchy and gap, each part apart |
| :mod:`cocite_jobs.reproduction.rerankers` | the cross-encoders of two plans |
| :mod:`cocite_jobs.reproduction.papers` | their names |
| :mod:`cocite_jobs.reproduction.published` | the numbers that the papers print |
| :mod:`cocite_jobs.reproduction.budget` | divides the time among the trainings |
| :mod:`cocite_jobs.reproduction.training_step` | trains what is missing, and records step, seed and seconds |
| :mod:`cocite_jobs.reproduction.record` | keeps the tables that are made |
| :mod:`cocite_jobs.reproduction.reproduce` | all of it in order |
| :mod:`cocite_jobs.reproduction.trials` | all of it once for each of several seeds |
| :mod:`cocite_jobs.reproduction.trial_statistics` | means and deviations over the seeds |
| :mod:`cocite_jobs.reproduction.grid` | a table with the paper's numbers beside it |
| :mod:`cocite_jobs.reproduction.plots` | the figures |
| :mod:`cocite_jobs.reproduction.page` | the page, as HTML, Markdown and JSON |
"""
