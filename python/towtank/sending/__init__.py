"""Live sending of measurements to other programs during a run.

One thread follows the files of engine and probe (`following`), combines them into seconds (`gathering`), and encodes
these in each format (`prometheus`, `otlp`). One thread per receiver sends the encoded requests (`sender`). Sending can
neither delay a run nor make it fail: queues are bounded, and lost points are counted and reported to the user. To add a
format: a file with an `Encoder`, a line in `live.FORMS`, a test.
"""
