"""Describes the system in a window from the records of probes and scrapers: tiers, hosts, storage, databases."""
