"""States whether the importer converts, notes or ignores each key of OpenAPI 3.0 and 3.1."""

from __future__ import annotations

from towtank.workload.importers.accounting import key_table

KEYS = key_table("""\
openapi
    carried openapi info paths>>pathitem servers>server security webhooks: transactions, targets, logins
    harmless components: read through the references to it
    harmless jsonSchemaDialect: concerns the syntax of schemas
server
    carried url variables: target, and the beginning of its paths
pathitem
    carried get>operation put>operation post>operation delete>operation head>operation patch>operation
        parameters>parameter: one transaction for each
    carried options trace: a note: left out
    noted servers: requests of this path go to the first server of the description
operation
    carried operationId parameters>parameter requestBody>requestBody responses>>response security
    carried callbacks deprecated: a note
    noted servers: requests of this operation go to the first server of the description
parameter
    carried name in required: path, query, header or cookie
    carried content>>mediatype example examples schema>schema: value that is sent
    noted style=form|simple: values are sent as text, lists joined with commas
    noted explode=false: lists are sent as one value, joined with commas
    noted allowReserved=false: reserved characters are encoded
    noted allowEmptyValue=false: a value is sent
    noted deprecated=false: is sent like other parameters
requestBody
    carried content>>mediatype
    harmless required: a described body is always sent
mediatype
    carried example examples schema>schema: value that is sent
    noted encoding: parts are sent with the media type of their kind
response
    noted links: links are not followed: extract values from responses with `extract`
    harmless headers content: only the status of a response is checked
schema
    carried type format default example examples enum const properties>>schema items>schema required oneOf>schema
        anyOf>schema allOf>schema minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems minLength
        maxLength pattern readOnly
    harmless nullable writeOnly deprecated maxItems maxProperties additionalProperties patternProperties $defs $schema
        $id: a value can be generated without it
    noted discriminator not uniqueItems=false minProperties=0: the generated value may violate it: check that the
        server accepts it
    noted xml: XML bodies are not generated
openapi, server, pathitem, operation, parameter, requestBody, mediatype, response, schema
    harmless description summary title externalDocs tags $comment: text for readers
    harmless $ref: resolved wherever it occurs
""")
