"""States how the importer handles each option of k6 for tests, scenarios and requests.

`scripts/import-keys` lists the names from k6's type definitions; the defaults are the defaults of k6.
"""

from __future__ import annotations

from towtank.workload.importers.accounting import key_table

OPTIONS = key_table("""\
options, shared-iterations, per-vu-iterations, constant-vus, ramping-vus, constant-arrival-rate,
        ramping-arrival-rate, externally-controlled, scenario
    carried vus duration iterations stages: finding `load`; users and pace of the group
    noted gracefulStop="30s": at the end, requests in flight may take up to `drain`, 30 s
    noted gracefulRampDown="30s": users that leave finish their current transaction first
options
    carried scenarios thresholds: groups; objectives
    carried noCookiesReset: `cookies` of the groups: `kept: per_round` unless it is true
    carried maxRedirects: a note if k6 follows redirects
    carried noConnectionReuse: `connections: new_each_time`
    carried userAgent: header User-Agent
    noted noVUConnectionReuse=false: a user keeps its connection between rounds
    noted minIterationDuration: rounds may be shorter: set the pacing of the group
    noted rps=0: the requests per second of all users are not limited: set the pacing of the groups
    noted batch batchPerHost: requests of a batch are sent one after the other
    noted blacklistIPs blockHostnames: requests go to the addresses of the targets; no address is blocked
    noted hosts: host names are not replaced: set the address of the target with --address
    noted dns: the operating system resolves host names
    noted discardResponseBodies=false: bodies are always read completely
    noted insecureSkipTLSVerify=false tlsAuth tlsVersion tlsCipherSuites tlsAIAFetch=false: certificates and TLS are
        set for the target
    noted throw=false: a failed request fails its step
    noted executionSegment executionSegmentSequence: the whole load is imported, not a part of it
    noted paused=false|null: a load test does not start in a paused state
    noted vusMax: the load determines the number of users
    harmless summaryTrendStats summaryTimeUnit noSummary tags systemTags httpDebug noUsageReport linger cloud ext
        handleSummaryTimeout noThresholds: concerns the reports and results of k6
    harmless setupTimeout teardownTimeout: setup() and teardown() are left out with a note
shared-iterations, per-vu-iterations, constant-vus, ramping-vus, constant-arrival-rate, ramping-arrival-rate,
        externally-controlled, scenario
    carried executor exec: group and its transaction
    carried startVUs preAllocatedVUs maxVUs rate startRate timeUnit: finding `load`; users and pace of the group
    carried startTime maxDuration: a note: all groups run together until the load ends
    noted env={}: environment variables are parameters of the whole workload
    noted options: browser options are not used
    harmless tags: labels of results
stage
    carried duration target: finding `load`; users and pace of the group
threshold
    carried threshold: finding `objectives`, in the form of a study file
    noted abortOnFail=false: `towtank drive --abort-on` ends a load that clearly misses an objective
    harmless delayAbortEval: concerns the end of the test by a threshold; a note states that it does not end
params
    carried headers timeout tags: headers, `timeout`, name of the request
    carried cookies: header Cookie of the request
    noted auth="basic": Digest and NTLM are not supported; Basic uses the user and password in the URL
    noted jar: every user has one store of cookies
    noted redirects=0: redirects are not followed: add the next request as a step
    noted compression="": bodies are sent without compression
    noted responseCallback: a status of 2xx or 3xx counts as success, unless `check` names other statuses
    noted responseType="text": bodies are kept if a step reads them
functions
    carried get head post put patch del request batch: requests, in their order
    carried check: `check` of the request
    carried fail: a failure of the request before it ends the round
    carried group sleep: pages; think times
    carried url file b64encode SharedArray: values and data
    carried scenario vu: numbers of users and rounds
    noted setResponseCallback expectedStatuses: a status of 2xx or 3xx counts as success, unless `check` names other
        statuses
    noted options asyncRequest cookieJar CookieJar randomSeed instance test Counter Gauge Rate Trend parseHTML
        createHMAC createHash hmac md4 md5 randomBytes ripemd160 sha1 sha256 sha384 sha512 sha512_224 sha512_256
        b64decode Parser parse File open Client Stream connect Blob WebSocket CountQueuingStrategy ReadableStream
        ReadableStreamDefaultReader setTimeout clearTimeout setInterval clearInterval: left out, together with
        expressions that use its value
""")
