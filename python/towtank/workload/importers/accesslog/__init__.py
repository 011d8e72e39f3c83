"""Access logs of web servers."""
