"""Live sending of measurements to other programs during a run.

One thread follows the files of engine and probe (`following`), makes seconds of them (`gathering`) and lets each form
encode them (`prometheus`, `otlp`); one thread for each receiver sends them (`sender`, over `transport`). Sending can
neither delay a run nor make it fail: queues are bounded, lost points are counted and reported to the user. To add a
form: a file with an `Encoder`, a line in `live.FORMS`, a test.
"""
