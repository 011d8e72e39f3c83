"""A value is hidden because of its name, not because of its content."""

import time
from typing import Any

import pytest

from towtank import secrets
from towtank.secrets import redacted, redacted_setting, redacted_statement, redacted_text

LETTERS = "hunter"
DIGITS = "4711"
NAMES = [
    "pass", "pw", "pin", "passcode", "code", "sid", "X-Auth-Key", "signing_key", "dbpass", "user_pass", "db_pw",
    "csrftoken", "userPass", "device-key", "auth_key", "cvv",
]  # fmt: skip
VISIBLE = [
    "sort_key", "primary_key", "partitionKey", "status_code", "zipCode", "country_code", "error_code", "response_code",
    "exit_code", "pinning", "bypass", "key", "passes", "encoding", "users",
]  # fmt: skip


@pytest.mark.parametrize("secret", [LETTERS, DIGITS, "x9-K2"])
@pytest.mark.parametrize("name", NAMES)
def test_any_value_with_the_name_of_a_secret_is_hidden(name: str, secret: str) -> None:
    documents: list[Any] = [
        {name: secret},
        {name: [secret]},
        {name: {"value": secret}},
        {"headers": [[name, secret], ["Accept", "text/html"]]},
        {"header": {"name": name, "value": secret}},
        {"parameters": {name: secret}},
        f"http://host/list?{name}={secret}&page=2",
        f"http://host/#{name}={secret}",
    ]
    for document in documents:
        assert secret not in str(redacted(document)), document
    assert redacted_setting(f"parameters.{name}={secret}") == f"parameters.{name}=***"
    assert secret not in redacted_setting(f'services.db.more={{"{name}": ["{secret}"]}}')


def test_a_number_with_the_name_of_a_secret_is_hidden() -> None:
    assert redacted({"pin": 4711, "parameters": {"passcode": [4711]}}) == {
        "pin": "***",
        "parameters": {"passcode": ["***"]},
    }


@pytest.mark.parametrize("name", VISIBLE)
def test_other_names_keep_their_values(name: str) -> None:
    document = {name: "open", "other": {name: 3}, "factors": [{"name": name, "levels": ["2", "4"], "numeric": [2, 4]}]}
    assert redacted(document) == document
    assert redacted_setting(f"parameters.{name}=open") == f"parameters.{name}=open"


def test_counts_under_the_name_of_a_secret_stay() -> None:
    document = {"steps": {"POST /token": 3, "GET /a/code": {"count": 2}}, "columns": ["password", "name"], "auth": True}
    assert redacted(document) == document
    assert redacted({"auth": {"user": "ann", "count": 3, "value": "x"}}) == {
        "auth": {"user": "ann", "count": 3, "value": "***"}
    }


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("page=2&sort=name&order=desc", "page=2&sort=name&order=desc"),
        ("q=harbour&limit=20&offset=40", "q=harbour&limit=20&offset=40"),
        ("user_id=4711&maxItems=100&lang=en", "user_id=4711&maxItems=100&lang=en"),
        ("objectId=${documents.id}&doc=${a}-${b|url}", "objectId=${documents.id}&doc=***"),
        ("ref=abcdef&key=abcdef&n=4711", "ref=***&key=***&n=***"),
        ("session_id=4711&token_type=abc", "session_id=***&token_type=***"),
        ("q=k3-99x&token=${t}abc", "q=***&token=***"),
    ],
)
def test_a_query_shows_plain_values_of_harmless_names_only(query: str, shown: str) -> None:
    assert redacted_text(f"GET /list?{query}") == f"GET /list?{shown}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sent Bearer hunter to it", "sent Bearer *** to it"),
        ("authorization: basic YTpi", "authorization: basic ***"),
        ("'Authorization': 'Bearer abc.def'", "'Authorization': 'Bearer ***'"),
        ("Bearer ${parameters.mine}", "Bearer ${parameters.mine}"),
        ("needs a bearer token, or Basic authentication", "needs a bearer token, or Basic authentication"),
    ],
)
def test_tokens_of_headers_are_hidden_in_texts(text: str, shown: str) -> None:
    assert redacted_text(text) == shown


def test_a_mapping_of_parameters_on_the_command_line_hides_those_that_are_used_as_secrets() -> None:
    shown = redacted_setting('parameters={"mine": "abc", "user": "ann"}', {"mine"})
    assert shown == 'parameters={"mine": ***, "user": "ann"}'
    assert redacted_setting("services.web.headers.0=Authorization: Bearer abc").endswith("=Authorization: *** ***")


@pytest.mark.parametrize("where", ["password = ", "pass=", "IDENTIFIED BY "])
def test_words_that_a_statement_compares_with_secrets_are_hidden(where: str) -> None:
    statement = f"SELECT 1 WHERE kind = 'open' AND {where}'hunter'"
    assert redacted_statement(statement) == f"SELECT 1 WHERE kind = 'open' AND {where}'***'"


@pytest.mark.parametrize("part", ["a", "a+", "a@", "a:", "a://", "?a", "${", "#a;", "Bearer ", "'"])
def test_the_time_for_a_text_is_proportional_to_its_length(part: str) -> None:
    def seconds(length: int) -> float:
        text = part * (length // len(part)) + "@="
        taken = []
        for _ in range(3):
            begin = time.process_time()
            redacted_text(text)
            redacted_statement(text)
            taken.append(time.process_time() - begin)
        return min(taken)

    # The second text is 8 times as long as the first. A pattern with quadratic run time would need 64 times as long for
    # it.
    assert seconds(800_000) < 24 * max(seconds(100_000), 1e-3)


def test_no_pattern_begins_amid_a_word() -> None:
    for pattern in (secrets._LOGIN, secrets._BARE_LOGIN):
        text = "word+word~word:word@host" if pattern is secrets._BARE_LOGIN else "word://word@host"
        begins = [found for found in range(len(text)) if pattern.match(text, found)]
        assert begins == [0], pattern
