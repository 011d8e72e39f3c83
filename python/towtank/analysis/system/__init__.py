"""Describes the system in a window, from the streams of the observers: tiers, hosts, storage, databases, fairness."""
