"""The comparison of benchmarks/quality.py: data sets, contestants, tests, page."""
