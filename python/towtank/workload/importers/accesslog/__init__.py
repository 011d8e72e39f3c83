"""Import of access logs of web servers."""
