"""Runs a load test of several hours that observes the memory and the open files of all Towtank processes."""
