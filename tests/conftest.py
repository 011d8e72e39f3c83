"""Settings and fixtures of every test."""

pytest_plugins = ["left_out", "left_behind", "grouping", "certification"]
