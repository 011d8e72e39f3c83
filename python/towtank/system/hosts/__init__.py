"""Defines the hosts on which the services of a system run, and the providers that create and remove hosts.

The module `host` defines a host. The modules `local`, `existing`, `remote` and `virtual` are the providers. `group`
creates, starts and removes the hosts of a system file. `needs` lists their requirements, and `capabilities` examines
this machine. The names of all kernel objects of a system begin with the same prefix, by which `cleaning` finds them.
`janitor` removes them if the conductor, the process that runs the study, was killed.
"""
