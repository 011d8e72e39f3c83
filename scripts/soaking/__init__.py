"""A load of hours, during which memory and open files of all our processes are observed."""
