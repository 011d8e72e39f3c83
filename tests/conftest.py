"""What holds for every test."""

pytest_plugins = ["left_out", "left_behind", "grouping"]
