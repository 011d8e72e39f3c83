"""Describes the system in a window from the records of the observers: tiers, hosts, storage, databases, fairness."""
