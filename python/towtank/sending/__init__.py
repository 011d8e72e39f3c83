"""Sends what is measured to other programs while a run goes on.

One thread follows what engine and probe write (`following`), makes seconds of it (`gathering`) and lets each form
put them into words (`prometheus`, `otlp`); one thread for each receiver sends them (`sender`, over `transport`).
Nothing here may hold up a run or make it fail: queues are bounded, what does not get through is counted, and the user
is told.

To add a form: a file with an `Encoder`, a line in `live.FORMS`, a test.
"""
