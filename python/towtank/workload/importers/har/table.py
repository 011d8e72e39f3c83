"""States how the importer handles each key of HTTP Archives (HAR 1.2).

Keys that begin with `_` belong to the recording program.
"""

from __future__ import annotations

from towtank.workload.importers.accounting import key_table

KEYS = key_table("""\
log
    carried entries
    harmless version creator browser: program, browser and format of the recording
    harmless pages: pages are named by the path of their first request
entry
    carried request>request response>response startedDateTime time pageref: request, its page, think times
    harmless cache: users have no cache
    harmless timings: times of the recorded session; a load test measures its own
    harmless serverIPAddress connection: the target determines the destination of requests
request
    carried method url headers>header postData>postData
    noted cookies: every user keeps the cookies that the server sets; recorded cookies are not sent
    harmless queryString: repeats other data in another form: the query of the URL
    harmless httpVersion: the version of HTTP is set for the target
    carried bodySize: a note if the recording lacks the body
    harmless headersSize: follows from the request that is sent
postData
    carried mimeType text params>param: body
param
    carried name value fileName contentType: field of a form or part of a multipart body
header
    carried name value
response
    carried status: check of the status
    carried content>content headers: correlated values
    harmless redirectURL: the request after a redirect is a separate entry
    harmless cookies: repeats other data in another form: the header Set-Cookie
    harmless statusText httpVersion headersSize bodySize: describes the recorded response
content
    carried text encoding mimeType: correlated values; static files
    harmless size compression: describes the recorded response
log, entry, request, postData, param, header, response, content
    harmless comment: a comment
""")
