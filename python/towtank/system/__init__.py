"""Systems under test: start their services, observe them, and stop them.

`service` defines a service, `build` registers the kinds, `services/` holds one file per kind, `system` starts and stops
a whole system, `process` runs one process under a guard, `keeper` keeps a system up without a study.
"""
