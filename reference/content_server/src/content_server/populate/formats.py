"""Generates valid Office, PDF and JPEG files of an exact size.

Files are padded with random bytes. All padding is taken from the same random block, but at a different offset for every
file.
"""

from __future__ import annotations

import io
import random
import struct
import zipfile
from functools import cache
from xml.sax.saxutils import escape

from PIL import Image

_BLOCK = 1 << 20
_STAMP = (2024, 1, 1, 0, 0, 0)
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org"
# Largest length of the text in a comment segment of a JPEG file, without the two bytes of its length field. [bytes]
_COMMENT = 65_533


@cache
def _noise(seed: int) -> bytes:
    """Return a block of random bytes twice, so that `_BLOCK` bytes can be taken from any offset in the block."""
    return random.Random(f"padding:{seed}").randbytes(_BLOCK) * 2


def padding(seed: int, offset: int, length: int) -> bytes:
    """Return `length` incompressible bytes, from an offset in the random block."""
    start = offset % _BLOCK
    block = _noise(seed)[start : start + _BLOCK]
    return block * (length // _BLOCK) + block[: length % _BLOCK]


def office(kind: str, title: str, text: str, size: int, seed: int, number: int) -> bytes:
    """Return an Office Open XML file (`docx`, `xlsx` or `pptx`) of an exact size. [bytes]

    The file contains the text, and an uncompressed embedded object that fills the file to the size.
    """
    members = {"docx": _word, "xlsx": _sheet, "pptx": _slides}[kind](title, text)
    filler = size - len(_zipped(members, b""))
    if filler < 0:
        raise ValueError(f"a {kind} file of {size} bytes is too small for its content")
    return _zipped(members, padding(seed, number * 4099, filler))


def _zipped(members: dict[str, str], filler: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name, _STAMP), text)
        archive.writestr(zipfile.ZipInfo("embeddings/object1.bin", _STAMP), filler)
    return buffer.getvalue()


def _package(main: str, content_type: str, parts: dict[str, tuple[str, str]]) -> dict[str, str]:
    """Return the files of an Office package: content types, the relation to the main file, and the given `parts`."""
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="application/vnd.openxmlformats-officedocument.{kind}+xml"/>'
        for name, (kind, _) in {main: (content_type, ""), **parts}.items()
    )
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    return {
        "[Content_Types].xml": f'{head}<Types xmlns="{_OFFICE}/package/2006/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="bin" '
        f'ContentType="application/vnd.openxmlformats-officedocument.oleObject"/>{overrides}</Types>',
        "_rels/.rels": f'{head}<Relationships xmlns="{_OFFICE}/package/2006/relationships"><Relationship Id="rId1" '
        f'Type="{_RELATIONS}/officeDocument" Target="{main}"/></Relationships>',
        **{name: head + body for name, (_, body) in parts.items()},
    }


def _word(title: str, text: str) -> dict[str, str]:
    paragraphs = "".join(f"<w:p><w:r><w:t>{escape(line)}</w:t></w:r></w:p>" for line in [title, *text.split("\n\n")])
    body = f'<w:document xmlns:w="{_OFFICE}/wordprocessingml/2006/main"><w:body>{paragraphs}</w:body></w:document>'
    members = _package("word/document.xml", "wordprocessingml.document.main", {})
    return {**members, "word/document.xml": body}


def _sheet(title: str, text: str) -> dict[str, str]:
    rows = "".join(
        f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>{escape(line)}</t></is></c></row>'
        for n, line in enumerate([title, *text.split("\n\n")], start=1)
    )
    main = f"{_OFFICE}/spreadsheetml/2006/main"
    sheet = f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
    members = _package(
        "xl/workbook.xml",
        "spreadsheetml.sheet.main",
        {"xl/worksheets/sheet1.xml": ("spreadsheetml.worksheet", sheet)},
    )
    members["xl/workbook.xml"] = (
        f'<workbook xmlns="{main}" xmlns:r="{_RELATIONS}"><sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/>'
        "</sheets></workbook>"
    )
    members["xl/_rels/workbook.xml.rels"] = (
        f'<Relationships xmlns="{_OFFICE}/package/2006/relationships"><Relationship Id="rId1" '
        f'Type="{_RELATIONS}/worksheet" '
        f'Target="worksheets/sheet1.xml"/></Relationships>'
    )
    return members


def _slides(title: str, text: str) -> dict[str, str]:
    main = f"{_OFFICE}/presentationml/2006/main"
    members = _package("ppt/presentation.xml", "presentationml.presentation.main", {})
    members["ppt/presentation.xml"] = (
        f'<p:presentation xmlns:p="{main}"><p:sldSz cx="9144000" cy="6858000"/>'
        f'<p:notesSz cx="6858000" cy="9144000"/></p:presentation>'
    )
    members["ppt/notes.txt"] = f"{title}\n{text}"
    return members


def pdf(title: str, text: str, size: int, seed: int, number: int) -> bytes:
    """Return a PDF of an exact size, with one page of text and one embedded stream. [bytes]"""
    filler = size - len(_pdf(title, text, b""))
    if filler < 0:
        raise ValueError(f"a PDF of {size} bytes is too small for its content")
    return _pdf(title, text, padding(seed, number * 4099, filler))


def _pdf(title: str, text: str, filler: bytes) -> bytes:
    lines = [title, *(line[:90] for line in text.split(". ")[:50])]
    shown = " ".join(f"({line.translate(_PDF_ESCAPES)}) Tj T*" for line in lines)
    page = f"BT /F1 10 Tf 14 TL 56 780 Td {shown} ET".encode("latin-1", "replace")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(page), page),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        # The length field has a fixed number of digits, so that each byte of filler enlarges the file by one byte.
        b"<< /Length %010d >>\nstream\n%s\nendstream" % (len(filler), filler),
    ]
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for index, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (index, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%010d\n%%%%EOF\n" % (
        len(objects) + 1,
        out.rindex(b"xref\n0 "),
    )
    return bytes(out)


_PDF_ESCAPES = str.maketrans({"(": r"\(", ")": r"\)", "\\": r"\\", "\n": " "})


@cache
def _picture(seed: int) -> bytes:
    """Return a JPEG similar to a photograph: smooth colours with noise."""
    source = random.Random(f"picture:{seed}")
    small = Image.frombytes("RGB", (24, 18), source.randbytes(24 * 18 * 3))
    smooth = small.resize((1600, 1200), Image.Resampling.BICUBIC)
    noise = Image.frombytes("RGB", (400, 300), source.randbytes(400 * 300 * 3)).resize((1600, 1200))
    buffer = io.BytesIO()
    Image.blend(smooth, noise, 0.25).save(buffer, "JPEG", quality=88)
    return buffer.getvalue()


def jpeg(title: str, size: int, seed: int, number: int) -> bytes:
    """Return a JPEG of an exact size: a picture, and comment segments with the title and padding. [bytes]"""
    picture = _picture(seed)
    missing = size - len(picture)
    if missing < 4 + len(title):
        raise ValueError(f"a JPEG of {size} bytes is too small for its picture")
    filler = padding(seed, number * 4099, missing)
    head = title.encode("ascii", "replace")
    segments = []
    while missing:
        # Unless this segment is the last, it must leave enough bytes for marker, length field and title of the next.
        body = min(_COMMENT, missing - 4)
        if 0 < missing - 4 - body < 4 + len(head):
            body -= 4 + len(head)
        comment = (head + filler[missing - body : missing])[:body]
        segments.append(b"\xff\xfe" + struct.pack(">H", body + 2) + comment.ljust(body, b" "))
        missing -= 4 + body
    return picture[:2] + b"".join(segments) + picture[2:]
