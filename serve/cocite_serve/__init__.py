"""What stays up: the endpoint and its web page."""
