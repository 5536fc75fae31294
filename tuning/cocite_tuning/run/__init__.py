"""Running a sweep: its plan, its trials, and what is made of the best one."""
