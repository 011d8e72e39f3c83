"""Plant faults in the code, one after the other, to find those that no test detects."""
