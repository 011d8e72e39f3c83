"""Systems under test: how their services come up, are watched, and go down.

`service` says what a service is and knows the kinds, `services/` holds one file per kind, `system` brings a whole
system up and down, `process` runs one process under a guard, `keeper` keeps a system up without a study.
"""
