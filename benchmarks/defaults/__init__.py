"""How the defaults of the Ranker were chosen. Run in benchmarks/, as modules."""
