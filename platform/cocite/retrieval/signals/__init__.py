"""What is known of (query, paper) pairs besides the match of their texts: authors, votes, anchors, neighbours."""
