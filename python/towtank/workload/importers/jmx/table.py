"""States how the importer handles each property of JMeter's elements.

Names and defaults are those in the getters of the element classes of JMeter 5.5, which `scripts/import-keys` lists.
"""

from __future__ import annotations

from towtank.workload.importers.accounting import key_table

ELEMENTS = key_table("""\
every element
    harmless guiclass testclass elementType name TestPlan.comments TestElement.name .gui_class .test_class __idx:
        names and editors of elements
    harmless TestElement.enabled: a copy of the attribute in old files
    carried testname: name of the group, page or request
    carried enabled: disabled elements are left out, with a note
HTTPSamplerProxy, HTTPSampler, HTTPSampler2, ConfigTestElement
    carried HTTPSampler.domain .port .protocol: target of the request
    carried HTTPSampler.path .method HTTPsampler.Arguments .Files: the request
    carried HTTPSampler.postBodyRaw .DO_MULTIPART_POST: kind of body
    carried HTTPSampler.response_timeout .connect_timeout: `timeout`, `connect_timeout`
    carried HTTPSampler.use_keepalive: `connections: new_each_time` if no request has it, otherwise a note
    carried HTTPSampler.follow_redirects .auto_redirects: a note: redirects are not followed
    carried HTTPSampler.image_parser: a note: embedded resources are not requested
    noted HTTPSampler.contentEncoding=UTF-8|utf-8: texts are sent in UTF-8
    noted HTTPSampler.md5=false: bodies are not replaced by their checksum: checks examine the body itself
    noted HTTPSampler.monitor=false: the response is not parsed as a status page
    noted HTTPSampler.ipSource: connections start from the default address: see `sources` of the defaults
    noted HTTPSampler.ipSourceType=0: connections start from the default address
    noted HTTPSampler.proxyHost .proxyPort .proxyScheme=http .proxyUser .proxyPass: no proxy is used: requests go
        directly to the target
    noted HTTPSampler.BROWSER_COMPATIBLE_MULTIPART=false|true: parts are sent as browsers send them
    noted HTTPSampler.mimetype: written by old versions: the media type in the element of the file is used
    noted HTTPSampler.FILE_NAME .FILE_FIELD: written by old versions: save the plan with JMeter 3 or later, then
        import it
    noted HTTPSampler.CONTENT_TYPE: written by old versions: the Content-Type of the header manager is sent
    noted HTTPSampler.sample_timeout: is not used
    noted HTTPSampler.URL: is not used: the request has address and path
    harmless HTTPSampler.implementation: JMeter's library for HTTP requests
    harmless HTTPSampler.concurrentDwn .concurrentPool .embedded_url_re .embedded_url_exclude_re
        .embedded_url_allow_re: concerns embedded resources; a note states that they are not requested
ThreadGroup, OpenModelThreadGroup
    carried ThreadGroup.num_threads .ramp_time .duration .scheduler .main_controller: finding `load`
    carried TargetLevel ultimatethreadgroupdata: number of users in a thread group of a plugin, in the finding `load`
    carried ThreadGroup.on_sample_error: `on_failure` of each request
    noted ThreadGroup.delay=0: the start delay of the group is ignored: all groups start together
    noted ThreadGroup.delayedStart=false: threads are always created when they start
    noted ThreadGroup.same_user_on_next_iteration=true: a user keeps its connections from round to round
    noted ThreadGroup.start_time=0: a load test starts without a schedule
    noted ThreadGroup.end_time=0: a load ends with its stages
OpenModelThreadGroup
    carried OpenModelThreadGroup.schedule: a note: load of the study
    harmless OpenModelThreadGroup.random_seed: random numbers of the schedule
RegexExtractor, BoundaryExtractor, JSONPostProcessor, ResponseAssertion, JSONPathAssertion, DurationAssertion
    noted Sample.scope=parent: only the response itself is examined, not its redirects or embedded resources
    noted Assertion.scope=parent: only the response itself is examined
    noted Scope.variable: only the response is examined, not a variable
RegexExtractor
    carried RegexExtractor.refname .regex .template .match_number .useHeaders .default .default_empty_value
BoundaryExtractor
    carried BoundaryExtractor.refname .lboundary .rboundary .match_number .default .default_empty_value
    noted BoundaryExtractor.useHeaders=false: only the body is searched
JSONPostProcessor
    carried JSONPostProcessor.referenceNames .jsonPathExprs .match_numbers .defaultValues
    noted JSONPostProcessor.compute_concat=false: the variable NAME_ALL is not created
ResponseAssertion
    carried Asserion.test_strings Assertion.test_field .test_type
    noted Assertion.assume_success=false: the status is still checked
    harmless Assertion.custom_message: text of a message
JSONPathAssertion
    carried JSON_PATH EXPECTED_VALUE JSONVALIDATION INVERT ISREGEX
    noted EXPECT_NULL=false: null cannot be required: the check is that the path exists
DurationAssertion
    carried DurationAssertion.duration: a note: time limits are objectives of the study
ConstantTimer
    carried ConstantTimer.delay
UniformRandomTimer, GaussianRandomTimer, PoissonRandomTimer
    carried ConstantTimer.delay RandomTimer.range
ConstantThroughputTimer
    carried throughput calcMode: `pacing` of the group
PreciseThroughputTimer
    carried throughput throughputPeriod: `pacing` of the group
    noted batchSize=1 batchThreadDelay=0: requests are not sent in batches
    harmless randomSeed exactLimit allowedThroughputSurplus duration: random numbers of the schedule
LoopController
    carried LoopController.loops .continue_forever: `loop`
TransactionController
    carried TransactionController.includeTimers: a note if the page has think times
    harmless TransactionController.parent: concerns the list of results
IfController
    carried IfController.condition
    harmless IfController.useExpression: syntax of the condition
    noted IfController.evaluateAll=false: an imported condition is evaluated once, before its steps
ThroughputController
    carried ThroughputController.style .percentThroughput
    harmless ThroughputController.maxThroughput: a note about the whole element states the replacement
    noted ThroughputController.perThread=false|true: the share is a probability for each user
OnceOnlyController, GenericController, RecordingController, RandomOrderController
CriticalSectionController
    harmless CriticalSectionController.lockName: a note about the whole element states the replacement
RandomController, InterleaveControl
    noted InterleaveControl.style=1: the workload executes all requests of a nested controller each time, not only the
        next
    harmless InterleaveControl.accrossThreads: a note about the whole element states the replacement
SwitchController
    carried SwitchController.value: the element that is executed
WhileController
    harmless WhileController.condition: a note about the whole element states the replacement
RunTime
    harmless RunTime.seconds: a note about the whole element states the replacement
ForeachController
    harmless ForeachController.inputVal .returnVal .startIndex .endIndex .useSeparator: a note about the whole element
        states the replacement
TestAction
    carried ActionProcessor.action .duration
    harmless ActionProcessor.target: a note about the whole element states the replacement
TestPlan
    carried TestPlan.user_defined_variables: parameters
    noted TestPlan.functional_mode=false: complete responses are not stored
    noted TestPlan.serialize_threadgroups=false: groups run at the same time, not one after the other
    harmless TestPlan.tearDown_on_shutdown: concerns only groups that run after the test
    noted TestPlan.user_define_classpath: programs of the plan are not executed
HeaderManager, AuthManager, CookieManager, CSVDataSet, ConfigTestElement, Arguments
    noted ConfigTestElement.username .password: is not used by HTTP requests
HeaderManager
    carried HeaderManager.headers
AuthManager
    carried AuthManager.auth_list: `auth` of the requests whose address begins with its URL
    harmless AuthManager.clearEachIteration .controlledByThreadGroup: Basic authentication has no state
CookieManager
    carried CookieManager.cookies: `given` in the `cookies` of the group; cookies with variable values: header Cookie
    carried CookieManager.clearEachIteration .controlledByThreadGroup: `cookies` of the group: `kept: per_round`
    noted CookieManager.policy=standard|default|compatibility: cookies are identified by name, target and path
    harmless CookieManager.implementation: JMeter's library for cookies
CSVDataSet
    carried filename delimiter variableNames recycle ignoreFirstLine fileEncoding quotedData
    carried shareMode stopThread: a note if a pool distributes rows differently
CounterConfig
    carried CounterConfig.name .start .incr .per_user
    noted CounterConfig.end=9223372036854775807: ${iteration} has no largest value
    noted CounterConfig.format: the number is not formatted
    noted CounterConfig.reset_on_tg_iteration=false: ${iteration} is not reset
ConfigTestElement
    noted HTTPSampler.method=GET: each request has its own method
    noted HTTPsampler.Files: files of the defaults are not sent: add them to each request
    noted HTTPSampler.postBodyRaw=false .DO_MULTIPART_POST=false: each request has its own body
    noted HTTPSampler.use_keepalive=true|false: each request has its own setting
    noted HTTPSampler.follow_redirects=false .auto_redirects=false: redirects are not followed
    noted HTTPSampler.image_parser=false: embedded resources are not requested
Arguments
    carried Arguments.arguments
HTTPArgument
    carried Argument.name .value HTTPArgument.always_encode Argument.metadata: name and value
    carried HTTPArgument.content_type: media type of a part of a multipart body
    harmless Argument.desc: a comment
    carried HTTPArgument.use_equals: a note if `=` does not follow a name without a value
Argument
    carried Argument.name .value: parameters
    harmless Argument.desc .metadata: a comment, and the separator between name and value
Header
    carried Header.name .value
Authorization
    carried Authorization.url .username .password .mechanism
    noted Authorization.domain: is used by NTLM only, which is not supported
    noted Authorization.realm: a login is chosen by its address, not by its realm
Cookie
    carried Cookie.value .domain .path .domain_specified
    noted Cookie.secure=false: the cookie is sent to its target with and without TLS
    noted Cookie.expires=0: the cookie does not expire
    harmless Cookie.path_specified: the cookie is sent to its path
    harmless Cookie.version: all cookies have the same version today
HTTPFileArg
    carried File.path .paramname .mimetype
HTTPFileArgs
    carried HTTPFileArgs.files
""")
# Attributes that every element has, and properties that any element may have.
COMMON = ELEMENTS.pop("every element")
