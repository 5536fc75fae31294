"""Jobs, which run and end: trainings, evaluations, tables and demos, on this machine or on Ray."""
