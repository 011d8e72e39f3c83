"""Recording: what a browser or another client asks of a server becomes a workload.

`proxy` relays HTTP and sees every exchange; over TLS it speaks with certificates of an authority of its own
(`authority`). `browsing` drives a headless Chromium (`chromium`, `devtools`) through such a proxy. Both keep their
exchanges in an HTTP Archive (`archive`), which goes the way of every recording: the importer of the format `har` makes
a workload of it and tells what could not be carried over (`finishing`).
"""
