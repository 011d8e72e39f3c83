"""Load test of several hours that observes memory and open files of all Towtank processes."""
