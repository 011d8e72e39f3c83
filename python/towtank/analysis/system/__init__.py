"""What the system did in a window, from the streams of the observers: tiers, hosts, storage, databases, fairness."""
