"""Import of test plans of JMeter."""
