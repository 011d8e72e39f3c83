"""Starts the services of a system under test, observes them, and stops them.

`service` defines a service, `build` registers the kinds, `services/` holds one file per kind, `system` starts and
stops a whole system, `process` runs one process under a guard, `keeper` keeps a system up without a study.
"""
