"""Hosts: the machines that the services of a system run on, each made, entered and removed by a provider.

`host` defines a host. `local`, `existing`, `remote` and `virtual` are the providers; `group` makes the hosts of a
system file and brings them up and down, `capabilities` examines this machine and `needs` the requirements of a file.
Everything made in the kernel carries one prefix per system, by which `cleaning` finds it and `janitor` removes it after
the conductor was killed.
"""
