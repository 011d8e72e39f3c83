"""Live sending of measurements to other programs during a run.

One thread follows the files of engine and probe (`following`), combines their lines into seconds
(`gathering`), and encodes the seconds in each format (`prometheus`, `otlp`). One thread per receiver sends
the encoded requests (`sender`, through `transport`). Sending can neither delay a run nor make it fail: queues
are bounded, and lost points are counted and reported to the user. To add a format: a file with an `Encoder`,
a line in `live.FORMS`, a test.
"""
