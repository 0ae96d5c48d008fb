"""Programs among the tests: one needs atheris, which few have, the other runs for minutes."""

collect_ignore = ["atheris_harness.py", "long_run.py"]
