"""Hosts on which the services of a system run; a provider creates, enters and removes them.

`host` defines a host. `local`, `existing`, `remote` and `virtual` are the providers; `group` creates the hosts of a
system file and starts and removes them, `capabilities` examines this machine and `needs` the requirements of a file.
All kernel objects of a system share one prefix, by which `cleaning` finds them and `janitor` removes them if the
conductor was killed.
"""
