"""Defines the hosts on which the services of a system run, and the providers that create and remove hosts.

`host` defines a host. `local`, `existing`, `remote` and `virtual` are the providers. `group` creates, starts and
removes the hosts of a system file; `needs` lists what they require, and `capabilities` examines this machine. The names
of all kernel objects of a system begin with the same prefix. `cleaning` finds the objects by this prefix, and `janitor`
removes them if the conductor, the process that runs the study, was killed.
"""
