"""Recording: the requests of a browser or another client become a workload.

`proxy` relays HTTP and sees every exchange; over TLS it uses certificates of its own authority (`authority`).
`browsing` drives a headless Chromium (`chromium`, `devtools`) through such a proxy. Both keep their exchanges in an
HTTP Archive (`archive`), from which the importer of the format `har` makes a workload and reports what it could not
carry over (`finishing`).
"""
