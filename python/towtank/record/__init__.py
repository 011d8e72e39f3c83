"""Recording: converts the requests of a browser or another client into a workload.

`proxy` relays HTTP and records every exchange; TLS clients get certificates from `authority`, a separate certificate
authority. `browsing` drives a headless Chromium (`chromium`, `devtools`) through such a proxy. Both store the exchanges
in an HTTP Archive (`archive`). `finishing` converts the archive into a workload with the `har` importer, and reports
the parts of the recording that the workload lacks.
"""
