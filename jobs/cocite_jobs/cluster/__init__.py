"""Ray clusters: the connection that a training uses, the resources of its workers, and jobs submitted to a cluster."""
