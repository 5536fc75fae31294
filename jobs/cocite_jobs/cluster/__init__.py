"""Ray clusters: the session that a training runs in, and jobs submitted to one."""
