"""Defines the hosts on which the services of a system run; a provider creates, enters and removes its hosts.

`host` defines a host. `local`, `existing`, `remote` and `virtual` are the providers; `group` creates the hosts of a
system file and starts and removes them, `capabilities` examines this machine and `needs` the requirements of a file.
All kernel objects of a system share one prefix. `cleaning` finds the objects by this prefix, and `janitor` removes
them if the conductor, the process that runs the study, was killed.
"""
