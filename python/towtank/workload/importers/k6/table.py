"""States how the importer handles each option of k6 for tests, scenarios and requests.

`scripts/import-keys` lists the names from k6's type definitions; the defaults are the defaults of k6.
"""

from __future__ import annotations

from towtank.workload.importers.accounting import Fate, Key, Table, carried, harmless, noted


def _left_out(*names: str) -> dict[str, Key]:
    """Declare functions without a counterpart in a workload. Expressions that use their values are omitted as well."""
    return {name: Key(Fate.NOTED, "left out, together with expressions that use its value") for name in names}


_REPORT = "concerns the reports and results of k6"
_LOAD = "finding `load`; users and pace of the group"

_LOAD_KEYS: dict[str, Key] = {
    **carried("vus", "duration", "iterations", "stages", why=_LOAD),
    **noted("gracefulStop", "at the end, requests in flight may take up to `drain`, 30 s", '"30s"'),
    **noted("gracefulRampDown", "users that leave finish their current transaction first", '"30s"'),
}

_SCENARIO: dict[str, Key] = {
    **_LOAD_KEYS,
    **carried("executor", "exec", why="group and its transaction"),
    **carried("startVUs", "preAllocatedVUs", "maxVUs", "rate", "startRate", "timeUnit", why=_LOAD),
    **carried("startTime", "maxDuration", why="a note: all groups run together until the load ends"),
    **noted("env", "environment variables are parameters of the whole workload", "{}"),
    **noted("options", "browser options are not used"),
    **harmless("labels of results", "tags"),
}

OPTIONS: Table = {
    "options": {
        **_LOAD_KEYS,
        **carried("scenarios", "thresholds", why="groups; objectives"),
        **carried("noCookiesReset", why="`cookies` of the groups: `kept: per_round` unless it is true"),
        **carried("maxRedirects", why="a note if k6 follows redirects"),
        **carried("noConnectionReuse", why="`connections: new_each_time`"),
        **carried("userAgent", why="header User-Agent"),
        **noted("noVUConnectionReuse", "a user keeps its connection between rounds", "false"),
        **noted("minIterationDuration", "rounds may be shorter: set the pacing of the group"),
        **noted("rps", "the requests per second of all users are not limited: set the pacing of the groups", "0"),
        **noted("batch", "requests of a batch are sent one after the other"),
        **noted("batchPerHost", "requests of a batch are sent one after the other"),
        **noted("blacklistIPs", "requests go to the addresses of the targets; no address is blocked"),
        **noted("blockHostnames", "requests go to the addresses of the targets; no address is blocked"),
        **noted("hosts", "host names are not replaced: set the address of the target with --address"),
        **noted("dns", "the operating system resolves host names"),
        **noted("discardResponseBodies", "bodies are always read completely", "false"),
        **noted("insecureSkipTLSVerify", "certificates and TLS are set for the target", "false"),
        **noted("tlsAuth", "certificates and TLS are set for the target"),
        **noted("tlsVersion", "certificates and TLS are set for the target"),
        **noted("tlsCipherSuites", "certificates and TLS are set for the target"),
        **noted("tlsAIAFetch", "certificates and TLS are set for the target", "false"),
        **noted("throw", "a failed request fails its step", "false"),
        **noted("executionSegment", "the whole load is imported, not a part of it"),
        **noted("executionSegmentSequence", "the whole load is imported, not a part of it"),
        **noted("paused", "a load test does not start in a paused state", "false", "null"),
        **noted("vusMax", "the load determines the number of users"),
        **harmless(_REPORT, "summaryTrendStats", "summaryTimeUnit", "noSummary", "tags", "systemTags", "httpDebug"),
        **harmless(_REPORT, "noUsageReport", "linger", "cloud", "ext", "handleSummaryTimeout", "noThresholds"),
        **harmless("setup() and teardown() are left out with a note", "setupTimeout", "teardownTimeout"),
    },
    **dict.fromkeys(
        (
            "shared-iterations",
            "per-vu-iterations",
            "constant-vus",
            "ramping-vus",
            "constant-arrival-rate",
            "ramping-arrival-rate",
            "externally-controlled",
            "scenario",
        ),
        _SCENARIO,
    ),
    "stage": carried("duration", "target", why=_LOAD),
    "threshold": {
        **carried("threshold", why="finding `objectives`, in the form of a study file"),
        **noted("abortOnFail", "`towtank drive --abort-on` ends a load that clearly misses an objective", "false"),
        **harmless("concerns the end of the test by a threshold; a note states that it does not end", "delayAbortEval"),
    },
    "params": {
        **carried("headers", "timeout", "tags", why="headers, `timeout`, name of the request"),
        **carried("cookies", why="header Cookie of the request"),
        **noted("auth", "Digest and NTLM are not supported; Basic uses the user and password in the URL", '"basic"'),
        **noted("jar", "every user has one store of cookies"),
        **noted("redirects", "redirects are not followed: add the next request as a step", "0"),
        **noted("compression", "bodies are sent without compression", '""'),
        **noted("responseCallback", "a status of 2xx or 3xx counts as success, unless `check` names other statuses"),
        **noted("responseType", "bodies are kept if a step reads them", '"text"'),
    },
    "functions": {
        **carried("get", "head", "post", "put", "patch", "del", "request", "batch", why="requests, in their order"),
        **carried("check", why="`check` of the request"),
        **carried("fail", why="a failure of the request before it ends the round"),
        **carried("group", "sleep", why="pages; think times"),
        **carried("url", "file", "b64encode", "SharedArray", why="values and data"),
        **carried("scenario", "vu", why="numbers of users and rounds"),
        **noted("setResponseCallback", "a status of 2xx or 3xx counts as success, unless `check` names other statuses"),
        **noted("expectedStatuses", "a status of 2xx or 3xx counts as success, unless `check` names other statuses"),
        **_left_out("options", "asyncRequest", "cookieJar", "CookieJar"),
        **_left_out("randomSeed", "instance", "test", "Counter", "Gauge", "Rate", "Trend", "parseHTML"),
        **_left_out("createHMAC", "createHash", "hmac", "md4", "md5", "randomBytes", "ripemd160", "sha1", "sha256"),
        **_left_out("sha384", "sha512", "sha512_224", "sha512_256", "b64decode"),
        **_left_out("Parser", "parse", "File", "open", "Client", "Stream", "connect", "Blob", "WebSocket"),
        **_left_out("CountQueuingStrategy", "ReadableStream", "ReadableStreamDefaultReader"),
        **_left_out("setTimeout", "clearTimeout", "setInterval", "clearInterval"),
    },
}
