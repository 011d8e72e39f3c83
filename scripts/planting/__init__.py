"""Plant faults in the code one at a time, to find those that no test detects."""
