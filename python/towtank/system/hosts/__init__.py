"""Hosts: the machines that the services of a system run on, each made, entered and removed by a provider.

`host` says what a host is. `local`, `existing` and `virtual` are the providers; `group` makes the hosts of a
system file and brings them up and down, `capabilities` says what this machine can do for them and `needs` what a file
asks for. Whatever is made in the kernel carries one prefix per system, which `cleaning` finds and
`janitor` removes when the conductor was killed.
"""
