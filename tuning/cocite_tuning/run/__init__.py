"""Running a sweep: the driver, its trials, and what becomes of the best."""
