"""States how the importer handles each property of JMeter's elements.

Names and defaults are those in the getters of the element classes of JMeter 5.5, which `scripts/import-keys` lists.
"""

from __future__ import annotations

from towtank.workload.importers.accounting import Key, Table, carried, harmless, noted

_IN_NOTE = "a note about the whole element states the replacement"

# Attributes that every element has, and properties that any element may have.
COMMON: dict[str, Key] = {
    **harmless("names and editors of elements", "guiclass", "testclass", "elementType", "name", "TestPlan.comments"),
    **harmless(
        "names and editors of elements", "TestElement.name", "TestElement.gui_class", "TestElement.test_class", "__idx"
    ),
    **harmless("a copy of the attribute in old files", "TestElement.enabled"),
    **carried("testname", why="name of the group, page or request"),
    **carried("enabled", why="disabled elements are left out, with a note"),
}

_SCOPE: dict[str, Key] = {
    **noted("Sample.scope", "only the response itself is examined, not its redirects or embedded resources", "parent"),
    **noted("Assertion.scope", "only the response itself is examined", "parent"),
    **noted("Scope.variable", "only the response is examined, not a variable"),
}
_LOGIN: dict[str, Key] = {
    **noted("ConfigTestElement.username", "is not used by HTTP requests"),
    **noted("ConfigTestElement.password", "is not used by HTTP requests"),
}

_REQUEST: dict[str, Key] = {
    **carried("HTTPSampler.domain", "HTTPSampler.port", "HTTPSampler.protocol", why="target of the request"),
    **carried(
        "HTTPSampler.path", "HTTPSampler.method", "HTTPsampler.Arguments", "HTTPsampler.Files", why="the request"
    ),
    **carried("HTTPSampler.postBodyRaw", "HTTPSampler.DO_MULTIPART_POST", why="kind of body"),
    **carried("HTTPSampler.response_timeout", "HTTPSampler.connect_timeout", why="`timeout`, `connect_timeout`"),
    **carried("HTTPSampler.use_keepalive", why="`connections: new_each_time` if no request has it, otherwise a note"),
    **carried("HTTPSampler.follow_redirects", "HTTPSampler.auto_redirects", why="a note: redirects are not followed"),
    **carried("HTTPSampler.image_parser", why="a note: embedded resources are not requested"),
    **noted("HTTPSampler.contentEncoding", "texts are sent in UTF-8", "UTF-8", "utf-8"),
    **noted("HTTPSampler.md5", "bodies are not replaced by their checksum: checks examine the body itself", "false"),
    **noted("HTTPSampler.monitor", "the response is not parsed as a status page", "false"),
    **noted("HTTPSampler.ipSource", "connections start from the default address: see `sources` of the defaults"),
    **noted("HTTPSampler.ipSourceType", "connections start from the default address", "0"),
    **noted("HTTPSampler.proxyHost", "no proxy is used: requests go directly to the target"),
    **noted("HTTPSampler.proxyPort", "no proxy is used: requests go directly to the target"),
    **noted("HTTPSampler.proxyScheme", "no proxy is used: requests go directly to the target", "http"),
    **noted("HTTPSampler.proxyUser", "no proxy is used: requests go directly to the target"),
    **noted("HTTPSampler.proxyPass", "no proxy is used: requests go directly to the target"),
    **noted("HTTPSampler.BROWSER_COMPATIBLE_MULTIPART", "parts are sent as browsers send them", "false", "true"),
    **noted("HTTPSampler.mimetype", "written by old versions: the media type in the element of the file is used"),
    **noted("HTTPSampler.FILE_NAME", "written by old versions: save the plan with JMeter 3 or later, then import it"),
    **noted("HTTPSampler.FILE_FIELD", "written by old versions: save the plan with JMeter 3 or later, then import it"),
    **noted("HTTPSampler.CONTENT_TYPE", "written by old versions: the Content-Type of the header manager is sent"),
    **noted("HTTPSampler.sample_timeout", "is not used"),
    **noted("HTTPSampler.URL", "is not used: the request has address and path"),
    **harmless("JMeter's library for HTTP requests", "HTTPSampler.implementation"),
    **harmless(
        "concerns embedded resources; a note states that they are not requested",
        "HTTPSampler.concurrentDwn",
        "HTTPSampler.concurrentPool",
        "HTTPSampler.embedded_url_re",
        "HTTPSampler.embedded_url_exclude_re",
        "HTTPSampler.embedded_url_allow_re",
    ),
}
# From request defaults, the importer converts only address, path, arguments and timeouts.
_DEFAULTS: dict[str, Key] = {
    **noted("HTTPsampler.Files", "files of the defaults are not sent: add them to each request"),
    **noted("HTTPSampler.method", "each request has its own method", "GET"),
    **noted("HTTPSampler.postBodyRaw", "each request has its own body", "false"),
    **noted("HTTPSampler.DO_MULTIPART_POST", "each request has its own body", "false"),
    **noted("HTTPSampler.use_keepalive", "each request has its own setting", "true", "false"),
    **noted("HTTPSampler.follow_redirects", "redirects are not followed", "false"),
    **noted("HTTPSampler.auto_redirects", "redirects are not followed", "false"),
    **noted("HTTPSampler.image_parser", "embedded resources are not requested", "false"),
}
_GROUP: dict[str, Key] = {
    **carried("ThreadGroup.num_threads", "ThreadGroup.ramp_time", "ThreadGroup.duration", why="finding `load`"),
    **carried(
        "TargetLevel",
        "ultimatethreadgroupdata",
        why="number of users in a thread group of a plugin, in the finding `load`",
    ),
    **carried("ThreadGroup.scheduler", "ThreadGroup.main_controller", why="finding `load`"),
    **carried("ThreadGroup.on_sample_error", why="`on_failure` of each request"),
    **noted("ThreadGroup.delay", "the start delay of the group is ignored: all groups start together", "0"),
    **noted("ThreadGroup.delayedStart", "threads are always created when they start", "false"),
    **noted("ThreadGroup.same_user_on_next_iteration", "a user keeps its connections from round to round", "true"),
    **noted("ThreadGroup.start_time", "a load test starts without a schedule", "0"),
    **noted("ThreadGroup.end_time", "a load ends with its stages", "0"),
}
_ARGUMENT: dict[str, Key] = {
    **carried(
        "Argument.name", "Argument.value", "HTTPArgument.always_encode", "Argument.metadata", why="name and value"
    ),
    **carried("HTTPArgument.content_type", why="media type of a part of a multipart body"),
    **harmless("a comment", "Argument.desc"),
    **carried("HTTPArgument.use_equals", why="a note if `=` does not follow a name without a value"),
}
_EXTRACTORS: dict[str, dict[str, Key]] = {
    "RegexExtractor": {
        **carried(
            *(f"RegexExtractor.{name}" for name in ("refname", "regex", "template", "match_number", "useHeaders"))
        ),
        **carried("RegexExtractor.default", "RegexExtractor.default_empty_value"),
        **_SCOPE,
    },
    "BoundaryExtractor": {
        **carried(*(f"BoundaryExtractor.{name}" for name in ("refname", "lboundary", "rboundary", "match_number"))),
        **carried("BoundaryExtractor.default", "BoundaryExtractor.default_empty_value"),
        **noted("BoundaryExtractor.useHeaders", "only the body is searched", "false"),
        **_SCOPE,
    },
    "JSONPostProcessor": {
        **carried(*(f"JSONPostProcessor.{name}" for name in ("referenceNames", "jsonPathExprs", "match_numbers"))),
        **carried("JSONPostProcessor.defaultValues"),
        **noted("JSONPostProcessor.compute_concat", "the variable NAME_ALL is not created", "false"),
        **_SCOPE,
    },
}
_ASSERTIONS: dict[str, dict[str, Key]] = {
    "ResponseAssertion": {
        **carried("Asserion.test_strings", "Assertion.test_field", "Assertion.test_type"),
        **noted("Assertion.assume_success", "the status is still checked", "false"),
        **harmless("text of a message", "Assertion.custom_message"),
        **_SCOPE,
    },
    "JSONPathAssertion": {
        **carried("JSON_PATH", "EXPECTED_VALUE", "JSONVALIDATION", "INVERT", "ISREGEX"),
        **noted("EXPECT_NULL", "null cannot be required: the check is that the path exists", "false"),
        **_SCOPE,
    },
    "DurationAssertion": {
        **carried("DurationAssertion.duration", why="a note: time limits are objectives of the study"),
        **_SCOPE,
    },
}
_TIMERS: dict[str, dict[str, Key]] = {
    "ConstantTimer": carried("ConstantTimer.delay"),
    **dict.fromkeys(
        ("UniformRandomTimer", "GaussianRandomTimer", "PoissonRandomTimer"),
        carried("ConstantTimer.delay", "RandomTimer.range"),
    ),
    "ConstantThroughputTimer": carried("throughput", "calcMode", why="`pacing` of the group"),
    "PreciseThroughputTimer": {
        **carried("throughput", "throughputPeriod", why="`pacing` of the group"),
        **noted("batchSize", "requests are not sent in batches", "1"),
        **noted("batchThreadDelay", "requests are not sent in batches", "0"),
        **harmless(
            "random numbers of the schedule", "randomSeed", "exactLimit", "allowedThroughputSurplus", "duration"
        ),
    },
}
_CONTROLLERS: dict[str, dict[str, Key]] = {
    "LoopController": carried("LoopController.loops", "LoopController.continue_forever", why="`loop`"),
    "TransactionController": {
        **carried("TransactionController.includeTimers", why="a note if the page has think times"),
        **harmless("concerns the list of results", "TransactionController.parent"),
    },
    "IfController": {
        **carried("IfController.condition"),
        **harmless("syntax of the condition", "IfController.useExpression"),
        **noted("IfController.evaluateAll", "an imported condition is evaluated once, before its steps", "false"),
    },
    "ThroughputController": {
        **carried("ThroughputController.style", "ThroughputController.percentThroughput"),
        **harmless(_IN_NOTE, "ThroughputController.maxThroughput"),
        **noted("ThroughputController.perThread", "the share is a probability for each user", "false", "true"),
    },
    "OnceOnlyController": {},
    "GenericController": {},
    "RecordingController": {},
    "RandomOrderController": {},
    "CriticalSectionController": harmless(_IN_NOTE, "CriticalSectionController.lockName"),
    **dict.fromkeys(
        ("RandomController", "InterleaveControl"),
        noted(
            "InterleaveControl.style",
            "the workload executes all requests of a nested controller each time, not only the next",
            "1",
        )
        | harmless(_IN_NOTE, "InterleaveControl.accrossThreads"),
    ),
    "SwitchController": carried("SwitchController.value", why="the element that is executed"),
    "WhileController": harmless(_IN_NOTE, "WhileController.condition"),
    "RunTime": harmless(_IN_NOTE, "RunTime.seconds"),
    "ForeachController": harmless(
        _IN_NOTE, *(f"ForeachController.{name}" for name in ("inputVal", "returnVal", "startIndex", "endIndex"))
    )
    | harmless(_IN_NOTE, "ForeachController.useSeparator"),
    "TestAction": carried("ActionProcessor.action", "ActionProcessor.duration")
    | harmless(_IN_NOTE, "ActionProcessor.target"),
}
_CONFIGURATION: dict[str, dict[str, Key]] = {
    "TestPlan": {
        **carried("TestPlan.user_defined_variables", why="parameters"),
        **noted("TestPlan.functional_mode", "complete responses are not stored", "false"),
        **noted("TestPlan.serialize_threadgroups", "groups run at the same time, not one after the other", "false"),
        **harmless("concerns only groups that run after the test", "TestPlan.tearDown_on_shutdown"),
        **noted("TestPlan.user_define_classpath", "programs of the plan are not executed"),
    },
    "HeaderManager": {**carried("HeaderManager.headers"), **_LOGIN},
    "AuthManager": {
        **carried("AuthManager.auth_list", why="`auth` of the requests whose address begins with its URL"),
        **harmless("Basic authentication has no state", "AuthManager.clearEachIteration"),
        **harmless("Basic authentication has no state", "AuthManager.controlledByThreadGroup"),
        **_LOGIN,
    },
    "CookieManager": {
        **carried(
            "CookieManager.cookies",
            why="`given` in the `cookies` of the group; cookies with variable values: header Cookie",
        ),
        **carried(
            "CookieManager.clearEachIteration",
            "CookieManager.controlledByThreadGroup",
            why="`cookies` of the group: `kept: per_round`",
        ),
        **noted(
            "CookieManager.policy",
            "cookies are identified by name, target and path",
            "standard",
            "default",
            "compatibility",
        ),
        **harmless("JMeter's library for cookies", "CookieManager.implementation"),
        **_LOGIN,
    },
    "CSVDataSet": {
        **carried("filename", "delimiter", "variableNames", "recycle", "ignoreFirstLine", "fileEncoding", "quotedData"),
        **carried("shareMode", "stopThread", why="a note if a pool distributes rows differently"),
        **_LOGIN,
    },
    "CounterConfig": {
        **carried(*(f"CounterConfig.{name}" for name in ("name", "start", "incr", "per_user"))),
        **noted("CounterConfig.end", "${iteration} has no largest value", "9223372036854775807"),
        **noted("CounterConfig.format", "the number is not formatted"),
        **noted("CounterConfig.reset_on_tg_iteration", "${iteration} is not reset", "false"),
    },
    "ConfigTestElement": {**_REQUEST, **_DEFAULTS, **_LOGIN},
    "Arguments": {**carried("Arguments.arguments"), **_LOGIN},
}

ELEMENTS: Table = {
    **dict.fromkeys(("HTTPSamplerProxy", "HTTPSampler", "HTTPSampler2"), _REQUEST),
    "ThreadGroup": _GROUP,
    "OpenModelThreadGroup": {**_GROUP, **carried("OpenModelThreadGroup.schedule", why="a note: load of the study")}
    | harmless("random numbers of the schedule", "OpenModelThreadGroup.random_seed"),
    **_EXTRACTORS,
    **_ASSERTIONS,
    **_TIMERS,
    **_CONTROLLERS,
    **_CONFIGURATION,
    "HTTPArgument": _ARGUMENT,
    "Argument": carried("Argument.name", "Argument.value", why="parameters")
    | harmless("a comment, and the separator between name and value", "Argument.desc", "Argument.metadata"),
    "Header": carried("Header.name", "Header.value"),
    "Authorization": {
        **carried(*(f"Authorization.{name}" for name in ("url", "username", "password", "mechanism"))),
        **noted("Authorization.domain", "is used by NTLM only, which is not supported"),
        **noted("Authorization.realm", "a login is chosen by its address, not by its realm"),
    },
    "Cookie": {
        **carried("Cookie.value", "Cookie.domain", "Cookie.path", "Cookie.domain_specified"),
        **noted("Cookie.secure", "the cookie is sent to its target with and without TLS", "false"),
        **noted("Cookie.expires", "the cookie does not expire", "0"),
        **harmless("the cookie is sent to its path", "Cookie.path_specified"),
        **harmless("all cookies have the same version today", "Cookie.version"),
    },
    "HTTPFileArg": carried("File.path", "File.paramname", "File.mimetype"),
    "HTTPFileArgs": carried("HTTPFileArgs.files"),
}
