"""Plant faults in the code, one after the other, to find faults that no test detects."""
