"""The report of a sweep: an HTML page that opens without a network, its figures, and the command that writes them."""
