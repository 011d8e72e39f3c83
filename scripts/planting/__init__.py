"""Plant faults one at a time, to find those that no test detects."""
