"""A closed network of what was measured: a station for each resource, demands by transaction, a delay for the rest.

`seconds` gathers intervals and levels of the runs, `groups` finds which transactions can be told apart at a resource,
`estimate` makes demands of them, `closed` solves the network and finds the delays, `replicates` does so for other
draws of the same measurements, `judging` holds it against what was measured, `answers` makes the document of it, and
`written` the model file.
"""

from towtank.model.fitting.networks.answers import SCHEMA, NetworkAnswer, network_answers
from towtank.model.fitting.networks.written import network_text, written_network

__all__ = ["SCHEMA", "NetworkAnswer", "network_answers", "network_text", "written_network"]
