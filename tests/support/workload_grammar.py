"""Generates random workloads, valid and invalid, from a grammar of steps."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

TARGETS = {
    "web": ["127.0.0.1:80"],
    "shop": ["127.0.0.1:443"],
    "base": ["sqlite:///nowhere.db"],
    "tree": ["ldap://127.0.0.1"],
    "wire": ["tcp://127.0.0.1:9"],
    "disk": ["file:///nowhere"],
}
"""Addresses of the targets of a workload. No server need listen on these addresses."""
CSV = {"good.csv": "id,weight\n1,2\n2,0.5\n", "ragged.csv": "id,weight\n1\n", "light.csv": "id,weight\n1,0\n2,x\n"}
FILES = {"plain.txt": "text", "places.txt": "an ${uuid} here", "script.js": "`${unknown}`"}

_HEADERS_WRONG = ("Connection", "content-length", "Transfer-Encoding", "a b", "", "x:y", "é")
_REGEXES = (
    'id="([^"]*)"', r"\d{1,3}", r"(?:a|b)+?c", r"(?P<name>x)", r"[\w.-]+@", "(?i)total", "a{2,}", r"\x41\.", "[]a]", "",
    r"\bword\b", r"^\s*$", r"[^\]]", "é+", ".{0,40}",
)  # fmt: skip
_REGEXES_WRONG = (
    "(?=a)", "(a)\\1", "[[:alpha:]]", '{"id": 1}', "a{,3}", "x++", "(?>a)", r"\Z", r"\ü", "[a&&b]", "(?#c)a", r"\0",
    "[a--b]", r"\w{4000}", "(a", "*", r"(?P<n>a)(?P=n)", r"[\b]", r"\<a", r"\ud800", "((a{500}){500}){500}", r"[a-\d]",
)  # fmt: skip
_PATHS = ("$", "$.a.b", "$['a b']", "$[ 0 ]", '$["x"]', "$.items[*].id", "$..id", "$[-1]", "$['é']")
_PATHS_WRONG = ("a", "$.", "$[", "$.a b", "$[١]", "$.1", "$['a", "$[1:2]", "$.a[?(@.b)]", "$.é1")
_FILTERS = ("(uid=ada)", "(&(uid=${x})(mail=*))", "(|(cn=a*b)(!(sn=c)))", "(cn>=a)", "(cn:2.5.13.2:=x)", "(&)")
_FILTERS_WRONG = ("uid=a", "(uid=a", "(u id=a)", "(${x}=1)", "((a=b))", "(a=**)")
_SQL = (("select 1", 0), ("select $1, $2", 2), ("select '$9' -- $8", 0), ('insert into "t$1" values ($1)', 1))
_SQL_WRONG = (("select $2", 1), ("select 'x", 1), ("select $99999999999999999999", 0), ("select '$1", 1), ("", 0))
_ODD = (None, True, -1, 0, 1.5, [], {}, "", "\x00", "x\ny", 10**25, "é" * 3)


class Grammar:
    """Generates one random workload.

    Parameters
    ----------
    seed : int
    wrong : float, default 0.012
        Probability of an invalid or unusual value, for each value.
    """

    def __init__(self, seed: int, wrong: float = 0.012) -> None:
        self.random = random.Random(seed)
        self.wrong = wrong

    def one(self, right: tuple[Any, ...] | list[Any], wrong: tuple[Any, ...] = ()) -> Any:
        if self.random.random() < self.wrong:
            return self.random.choice((*wrong, *_ODD))
        return self.random.choice(right)

    def key(self, right: tuple[Any, ...] | list[Any], wrong: tuple[Any, ...] = ()) -> str:
        return str(self.one(right, wrong))

    def maybe(self, make: Callable[[], Any], chance: float = 0.25) -> Any:
        return make() if self.random.random() < chance else None

    def some(self, **makers: Callable[[], Any]) -> dict[str, Any]:
        """Return a mapping with a random selection of the given keys. The functions return the values."""
        made = {key: self.maybe(make) for key, make in makers.items()}
        return {key: value for key, value in made.items() if value is not None}

    def document(self) -> dict[str, Any]:
        names = ["a", "b", "c"][: self.random.randint(1, 3)]
        transactions = {name: self.transaction() for name in names}
        first = {"first": [{"set": {"x": "1", "y": "${uuid}"}}, {"push": "v", "to": "bag"}, {"draw": "rows"}]}
        look = {"look": [{"get": "/${stored.key}", "reads": self.one(["documents"], ("papers",))}]}
        return {
            "schema": "towtank/workload/1",
            "name": "w",
            **self.some(title=lambda: self.one(["a title", "é"])),
            "parameters": {"place": self.one(["/p", "/é", "/p/q"], ("p", "/a b", "/\r\n", "${x}"))},
            "data": self.data(),
            "defaults": {"target": "web", **self.defaults()},
            "transactions": {**first, **transactions, **look},
            "groups": self.groups(names),
            "stored": {
                "documents": {"read_back": self.one(["look"], ("a", "nobody")), **self.some(absent=self.absent)}
            },
        }

    def absent(self) -> Any:
        return self.one([[404], [404, 410]], ([], [99], [600], [404, 404], 404))

    def data(self) -> dict[str, Any]:
        rows = self.one([[["1", "2"], ["3", "4"]], [{"id": 1, "weight": 2}]], ([{}], [["1"]], [[]]))
        inline: dict[str, Any] = {"rows": rows, "order": self.one(["random", "sequential", "unique"])}
        if rows and isinstance(rows, list) and isinstance(rows[0], list):
            inline["columns"] = ["id", "weight"]
        weighted = {
            "rows": [["1", self.one(["2", "0.5", "1e3"], ("inf", "nan", "-1", "0", "1_0", "٣"))]],
            "weight": "n",
        }
        csv = {
            "csv": self.one(["good.csv"], ("ragged.csv", "light.csv", "none.csv")),
            **self.some(weight=lambda: "weight"),
        }
        return {"rows": inline, "weighted": {"columns": ["id", "n"], **weighted}, "table": csv}

    def defaults(self) -> dict[str, Any]:
        return self.some(
            headers=self.headers,
            auth=lambda: {"user": self.template(), "password": self.template()},
            timeout=self.duration,
            connect_timeout=self.duration,
            drain=self.duration,
            think=self.pause,
            connections=lambda: self.one(
                ["per_user", "new_each_time", 4, {"pool": 8}, {"pool": 2, "streams": 5}],
                ({"pool": 2**29}, 10**12, 0, {"pool": 1, "streams": 0}),
            ),
            sources=lambda: [self.one(["127.0.0.1", "127.0.0.2"], ("::1%lo", "x", "1.2.3"))],
        )

    def groups(self, names: list[str]) -> dict[str, Any]:
        mix = {name: self.one([1, 2.5, 40, 100, 1e6], (-1, 1e12)) for name in names}
        loop = {"mix": mix, **self.some(**{self.random.choice(["think", "pacing"]): self.pause})}
        group = {
            "once": ["first"],
            "loop": loop,
            "end": [self.one(names, ("nobody",))],
            **self.some(cookies=self.cookies),
        }
        if self.random.random() < 0.7:
            return {"users": group}
        shares = self.one([("40 %", "60 %"), ("1 %", "99 %")], (("0 %", "100 %"), ("50 %", "60 %")))
        shares = shares if isinstance(shares, tuple) else (shares, "60 %")
        return {"users": {**group, "share": shares[0]}, "others": {**group, "share": shares[1]}}

    def cookies(self) -> dict[str, Any]:
        return self.some(
            kept=lambda: self.one(["per_user", "per_round", "never"], ("always",)),
            given=lambda: [
                {
                    "name": self.one(["theme", "b"], ("a=b", "a b", "é", "x;y")),
                    "value": self.one(["dark", "${parameters.place}", 5, "a b"], ("x;y", "x\ny", "é", "${x}", "\x7f")),
                    "target": self.one(["web", "shop"], ("base", "nowhere")),
                    **self.some(path=lambda: self.one(["/", "/p", "/%20"], ("p", "/a b", "/é", "/a;b", "/\x00"))),
                }
                for _ in range(2)
            ],
        )

    def transaction(self) -> list[Any]:
        if self.random.random() < 0.5:
            return self.steps(2)
        return [{"page": self.one(["home", "list é"]), "steps": self.steps(2)}, *self.steps(1)]

    def steps(self, depth: int) -> list[Any]:
        return [self.step(depth) for _ in range(self.random.randint(1, 3))]

    def step(self, depth: int) -> dict[str, Any]:
        kinds = [self.request] * 6 + [self.kept] + [self.sql, self.ldap, self.tcp, self.file, self.simple, self.simple]
        if depth > 0:
            kinds += [lambda: self.block(depth - 1)] * 2
        return self.random.choice(kinds)()

    def block(self, depth: int) -> dict[str, Any]:
        other = self.some(**{"else": lambda: self.steps(depth)})
        test = self.one(
            [{"filled": "x"}, {"empty": "y"}], ("${x} > 0", {"filled": "nothing"}, {"filled": "x", "empty": "y"})
        )
        kind = self.random.choice(["branch", "if", "loop"])
        if kind == "loop":
            return {
                "loop": self.one([1, 3, {"min": 0, "max": 2}], ({"min": 3, "max": 1}, 0)),
                "steps": self.steps(depth),
            }
        share = self.one(["30 %", "0 %", "100 %"], ("101 %", 0.3))
        return {kind: share if kind == "branch" else test, "then": self.steps(depth), **other}

    def simple(self) -> dict[str, Any]:
        return self.random.choice(
            [
                {"think": self.pause()},
                {"draw": self.one(["rows", "weighted", "table"], ("none",)), **self.some(**{"as": lambda: "row"})},
                {"set": {"x": self.template()}},
                {"push": self.template(), "to": self.one(["bag"], ("x",))},
                {"pop": self.one(["bag"], ("sack",)), "into": "y", "pick": self.one(["first", "last", "random"])},
                {"pick": "bag", "into": "x"},
            ]
        )

    def request(self) -> dict[str, Any]:
        method = self.one(["get", "post", "put", "delete", "head", "patch"])
        path = self.one(
            ["/", "/a?b=1", "/${x}/b", "/é", "/${rows.id|url}", "${y}", "/$${x}", "/%20"],
            ("http://a/b", "a", "/a b", "${uuid}", "/$${a b}", "/\x7f", "/\t", "${user.number}/a"),
        )
        return {
            str(method): path,
            **self.some(
                name=lambda: self.one(["one", "é"]),
                target=lambda: self.one(["web", "shop"], ("base", "nowhere")),
                query=lambda: {self.key(["q", "a b"]): self.template()},
                headers=self.headers,
                auth=lambda: self.one(["none", {"user": "u", "password": "${x}"}]),
                check=self.check,
                extract=lambda: {self.key(["x", "z"], ("1x",)): self.extract()},
                timeout=self.duration,
                on_failure=lambda: self.one(["end", "go_on"]),
            ),
            **(self.maybe(self.body, 0.4) or {}),
        }

    def kept(self) -> dict[str, Any]:
        """Return a random request or call that stores, replaces or removes a document on the server."""
        does = self.one(["stores", "replaces", "removes"], ("reads",))
        note = {str(does): {self.key(["documents"], ("papers",)): self.one(["${x}", "a-${y}"], ("${uuid}", "x"))}}
        if self.random.random() < 0.3:
            does_file: dict[str, Any] = {"delete": "${x}"} if does == "removes" else {"put": "${x}", "size": "1 KiB"}
            return self.call({"file": does_file, **note})
        if does == "removes":
            return {"delete": "/${x}", **note}
        content = self.one([{"body": "${x}"}, {"file": "plain.txt"}, {"multipart": {"p": {"file": "plain.txt"}}}])
        return {"put": "${parameters.place}", **note, **(content if isinstance(content, dict) else {})}

    def body(self) -> dict[str, Any]:
        return self.random.choice(
            [
                {"form": {"a b": self.template()}},
                {"json": self.one([{"a": ["${x}", 1, None, 1.5, True]}, "${x}", [], 3], ("${", {"a": "${nobody}"}))},
                {"body": self.template()},
                {"file": self.one(["plain.txt", "script.js"], ("places.txt", "none.txt", "${x}.txt"))},
                {"multipart": {self.key(["p", 'a"b']): self.part() for _ in range(self.random.randint(1, 2))}},
            ]
        )

    def part(self) -> Any:
        kind: dict[str, Any] = self.random.choice(
            [
                {"value": self.template()},
                {"file": self.one(["plain.txt"], ("places.txt", "none.txt"))},
                {"generated": {"size": self.one(["1 KiB", "10 MiB", "0 B"], ("99999999999 TiB", "1 x"))}},
            ]
        )
        texts = self.some(
            filename=lambda: self.one(["a.txt", "${x}", "é"], ("a\r\nb",)),
            content_type=lambda: self.one(["text/plain", "a/b; c=d"], ("text/plain\r\nX: y", "${x}")),
        )
        return {**kind, **texts}

    def headers(self) -> dict[str, Any]:
        return {self.key(["X-A", "Cookie", "Host", "te", "!x"], _HEADERS_WRONG): self.template() for _ in range(2)}

    def template(self) -> Any:
        return self.one(
            ["text", "${x}", "a ${y|json} b", "${random.int(1, 6)}", "${random.text(9)}", "$${x}", "é", "${iteration}",
             "${rows.id}", "${now.ms}", 5, True, "${user.number|url}"],
            ("${", "${x|no}", "${nobody}", "${random.int(9, 1)}", "a\r\nb", "${random.text(0)}", "${rows.no}", "\x00"),
        )  # fmt: skip

    def check(self) -> dict[str, Any]:
        return self.some(
            status=lambda: self.one([200, [200, "3xx"], "2xx"], (99, "6xx", [200, 700])),
            size=lambda: self.one(["1 KiB", {"min": "1 B"}, {"max": "9 MB"}], ({"max": "99999999999 TiB"}, 5)),
            contains=lambda: self.one(["a", ["b", "${x}"]]),
            not_contains=self.template,
            regex=lambda: self.one(_REGEXES, _REGEXES_WRONG),
            not_regex=lambda: [self.one(_REGEXES, _REGEXES_WRONG)],
            json=lambda: {self.key(_PATHS, _PATHS_WRONG): self.one(["v", "${x}", None])},
            header=lambda: {self.key(["ETag", "X-B"], ("a b", "", "é")): self.template()},
        )

    def extract(self) -> Any:
        source = self.random.choice(
            [
                {"json": self.one(_PATHS, _PATHS_WRONG)},
                {"regex": self.one(_REGEXES, _REGEXES_WRONG)},
                {"header": self.one(["ETag", "x-b"], ("a b", "é"))},
                {"status": True},
            ]
        )
        more = self.some(
            pick=lambda: self.one(["first", "last", "random", "count"], ("any", "all")),
            required=lambda: self.one([True, False]),
            default=lambda: self.one(["none", 5]),
        )
        return {**source, **more}

    def call(self, step: dict[str, Any], *, rows: str = "rows") -> dict[str, Any]:
        column = {"column": self.one(["id", "n"], ("",))}
        return {
            **step,
            **self.some(
                expect=lambda: self.some(
                    **{rows: lambda: self.one([1, {"min": 1}, {"max": 5}], ({"min": 10**25}, -1))},
                    size=lambda: self.one(["1 KiB", {"min": "1 B"}], ("99999999999 TiB",)),
                    affected=lambda: self.one([0, 3], (10**25,)),
                ),
                extract=lambda: {} if rows == "entries" else {"x": column},
                timeout=self.duration,
                name=lambda: "call",
            ),
        }

    def sql(self) -> dict[str, Any]:
        if self.random.random() < self.wrong * 5:
            text, count = self.random.choice(_SQL_WRONG)
        else:
            text, count = self.random.choice(_SQL)
        values = [self.one([self.template(), None]) for _ in range(count)]
        return self.call({"sql": text, "parameters": values})

    def ldap(self) -> dict[str, Any]:
        entry = self.one(["cn=${x},dc=a", "dc=a"])
        asked: dict[str, Any] = self.random.choice(
            [
                {"bind": entry, "password": "p"},
                {
                    "search": entry,
                    "filter": self.one(_FILTERS, _FILTERS_WRONG),
                    **self.some(
                        scope=lambda: self.one(["base", "one", "subtree"]),
                        attributes=lambda: self.one([["cn", "sn"], "*"], (["c n"], ["é"])),
                        size_limit=lambda: self.one([1, 2**31 - 1], (2**32,)),
                    ),
                },
                {"compare": entry, "attribute": self.one(["cn"], ("c n", "")), "value": self.template()},
                {"add": entry, "entry": {"cn": ["${x}", "b"], "sn": "c"}},
                {"modify": entry, "changes": {"delete": {"cn": []}, "add": {"sn": "x"}, "replace": {"o": ["a", "b"]}}},
                {"modify": entry, "changes": {"increment": {"n": self.one([1, -1, "2"], ("x", "${x}", 1.5))}}},
                {"delete": entry},
                {"unbind": True},
            ]
        )
        return self.call({"ldap": asked}, rows="entries")

    def tcp(self) -> dict[str, Any]:
        size = self.one(["1 KiB", "${x}"], ("x", "99999999999 TiB"))
        return self.call({"tcp": self.some(send=lambda: size, text=self.template, receive=lambda: size)})

    def file(self) -> dict[str, Any]:
        name = self.one(["f/${x}", "g"], ("/etc/x", "../x", "f/../../x"))
        size = self.one(["4 KiB", "${x}"], ("x",))
        asked: dict[str, Any] = self.random.choice(
            [
                {"create": name}, {"open": name}, {"close": name}, {"sync": name}, {"stat": name}, {"list": name},
                {"delete": name}, {"read": name, "offset": size}, {"write": name, "size": size}, {"read": name},
                {"append": name, "size": size}, {"put": name, "size": size}, {"rename": name, "to": "h"},
                {"make_folder": name},
            ]
        )  # fmt: skip
        return self.call({"file": asked})

    def duration(self) -> Any:
        return self.one(["3 s", "150 ms", "2 h"], ("0 s", "9999999 d", "1e99 s", "5"))

    def pause(self) -> Any:
        return self.one(
            [
                "1 s",
                "0 s",
                {"fixed": "2 s"},
                {"exponential": "2 s"},
                {"uniform": {"min": "1 s", "max": "3 s"}},
                {"normal": {"mean": "2 s", "sd": "500 ms", "max": "5 s"}},
                {"normal": {"mean": "2 s", "sd": "1 s"}},
            ],
            (
                "9999999 d",
                {"uniform": {"min": "3 s", "max": "1 s"}},
                {"normal": {"mean": "2 s", "sd": "0 s"}},
                {"normal": {"mean": "115 d", "sd": "1 d"}},
                {"normal": {"mean": "2 s", "sd": "900 s", "max": "2.1 s"}},
                "1e-9 /h",
            ),
        )
