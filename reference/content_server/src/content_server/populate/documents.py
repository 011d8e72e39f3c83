"""Generates the documents of the population. Seed, class and number determine a document completely."""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from content_server.populate import formats, words
from content_server.populate.classes import DocumentClass
from content_server.repository.base import ROOT_ID

# Earliest creation time of a document: 2024-01-01 00:00 UTC. [ms since 1970]
EPOCH = 1_704_067_200_000
_DAY = 86_400_000
_DEPARTMENTS = [
    "accounting",
    "audit",
    "claims",
    "contracts",
    "customs",
    "engineering",
    "facilities",
    "legal",
    "logistics",
    "marketing",
    "personnel",
    "purchasing",
    "sales",
    "treasury",
]
_STATUS = ("draft", "review", "approved", "released", "archived")
_LANGUAGES = ("en", "en", "en", "de", "fr", "es", "it", "ja")
_COUNTRIES = ("AT", "BR", "CA", "CH", "DE", "ES", "FR", "GB", "IN", "IT", "JP", "NL", "PL", "SE", "US", "ZA")
_KINDS = [
    "agreement",
    "analysis",
    "certificate",
    "complaint",
    "contract",
    "estimate",
    "invoice",
    "letter",
    "manual",
    "memorandum",
    "minutes",
    "offer",
    "order",
    "plan",
    "receipt",
    "report",
    "schedule",
    "statement",
]
_SUMMARY_WORDS = 40
_CUSTOMERS = 2000
# Mean number of older versions of a document; each version has properties of its own. [1]
_MEAN_OLDER_VERSIONS = 4.5
_MAX_OLDER_VERSIONS = 20
USERS = 2000

PropertyValue = tuple[str | None, float | None]


@dataclass(frozen=True)
class Document:
    """Metadata of a generated document.

    Attributes
    ----------
    content_id : str
        Identifier of the content, a UUID of version 5, which `storage.is_populated` requires.
    older : tuple of dict
        Properties of older versions, oldest first; all versions have the same content.
    text : str or None
        Text for the full-text index; None if the content is not text.
    """

    id: str
    content_id: str
    name: str
    author: str
    created_at: int
    properties: dict[str, PropertyValue]
    older: tuple[dict[str, PropertyValue], ...]
    text: str | None


def identifier(*parts: object) -> uuid.UUID:
    """Return an identifier, a UUID of version 5, that the arguments determine."""
    return uuid.uuid5(uuid.UUID(ROOT_ID), ":".join(str(part) for part in parts))


def user_name(number: int) -> str:
    """Return the name of the user with a number; user 1 is `user0001`."""
    return f"user{number:04d}"


def _properties(source: random.Random, created: int, number: int) -> dict[str, PropertyValue]:
    summary = " ".join(words.words(source, _SUMMARY_WORDS))
    return {
        "tt:amount": (None, round(source.lognormvariate(6.5, 1.4), 2)),
        "tt:country": (source.choice(_COUNTRIES), None),
        "tt:customer": (f"C{source.randint(1, _CUSTOMERS):05d}", None),
        "tt:department": (source.choice(_DEPARTMENTS), None),
        "tt:dueDate": (None, float(created + source.randint(10, 90) * _DAY)),
        "tt:invoiceNumber": (f"INV-{number:07d}", None),
        "tt:language": (source.choice(_LANGUAGES), None),
        "tt:pages": (None, float(source.randint(1, 60))),
        "tt:project": (f"P-{source.randint(1, 400):04d}", None),
        "tt:retention": (f"{source.choice((3, 5, 7, 10))} years", None),
        "tt:status": (source.choice(_STATUS), None),
        "tt:summary": (summary[:1].upper() + summary[1:] + ".", None),
    }


def _revised(source: random.Random, properties: dict[str, PropertyValue]) -> dict[str, PropertyValue]:
    """Return properties for the version before the version with the given properties."""
    amount = round(source.lognormvariate(6.5, 1.4), 2)
    return {**properties, "tt:amount": (None, amount), "tt:status": (source.choice(_STATUS), None)}


def make_document(seed: int, kind: DocumentClass, index: int, number: int) -> tuple[Document, bytes]:
    """Generate a document and its content.

    `index` is the document's number in its class, `number` its number in the population.
    """
    source = random.Random(f"{seed}:{kind.slug}:{index}")
    created = EPOCH + source.randrange(365 * _DAY)
    name = f"{source.choice(_KINDS)}-{source.choice(words.vocabulary()[400:])}-{number:06d}.{kind.extension}"
    properties = _properties(source, created, number)
    count = min(int(source.expovariate(1 / _MEAN_OLDER_VERSIONS) + 0.5), _MAX_OLDER_VERSIONS)
    document = Document(
        id=str(identifier("document", seed, kind.slug, index)),
        content_id=identifier("content", seed, kind.slug, index).hex,
        name=name,
        author=user_name(source.randint(1, USERS)),
        created_at=created,
        properties=properties,
        older=tuple(_revised(source, properties) for _ in range(count)),
        text=words.text(source, kind.size) if kind.extension == "txt" else None,
    )
    if document.text is not None:
        return document, document.text.encode("ascii")
    return document, _binary(source, seed, kind, name, number)


def _binary(source: random.Random, seed: int, kind: DocumentClass, name: str, number: int) -> bytes:
    if kind.extension == "jpg":
        return formats.jpeg(name, kind.size, seed, number)
    text = words.text(source, 4096)
    if kind.extension == "pdf":
        return formats.pdf(name, text, kind.size, seed, number)
    return formats.office(kind.extension, name, text, kind.size, seed, number)


def write_documents(seed: int, kind: DocumentClass, first: int, indices: Sequence[int], area: Path) -> list[Document]:
    """Generate documents of a class, and write their content files.

    `indices` are numbers in the class; `first` is the number of the first document of the class in the population.
    """
    documents = []
    for index in indices:
        document, content = make_document(seed, kind, index, first + index)
        path = area / document.content_id[:2] / document.content_id[2:4] / document.content_id
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        documents.append(document)
    return documents
