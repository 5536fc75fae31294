"""An index whose shards are searched by actors of Ray, on as many machines as the cluster has."""
