"""Ways to turn observations into scores, one a file."""
