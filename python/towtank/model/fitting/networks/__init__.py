"""Fits a closed network to measurements. The network has one station for each resource, demands by transaction, and a
delay.

`seconds` collects intervals and levels of the runs, `groups` finds the transactions that the data can distinguish at a
resource, `estimate` estimates their demands, and `closed` solves the network and finds the delays. `replicates` repeats
the fit for bootstrap replicates of the measurements, `judging` compares the network with the measurements, `answers`
builds the document, and `written` the model file.
"""

from towtank.model.fitting.networks.answers import NETWORK_SCHEMA, NetworkAnswer, network_answers
from towtank.model.fitting.networks.written import network_text, written_network
