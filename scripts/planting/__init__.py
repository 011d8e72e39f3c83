"""Plants faults in the code, one at a time, to find faults that no test detects."""
