"""The sweep file: what is tuned, over which space, and how trials are drawn."""
