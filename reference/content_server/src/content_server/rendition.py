"""Converts texts and images to PDF with ReportLab."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator

from PIL import Image, UnidentifiedImageError
from reportlab import rl_config  # type: ignore[import-untyped]
from reportlab.lib.pagesizes import A4  # type: ignore[import-untyped]
from reportlab.lib.utils import ImageReader  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from content_server.errors import Constraint

# Base 85 encoding of streams is disabled, because it takes seconds for an image and enlarges the file.
rl_config.useA85 = 0

PDF = "pdf"
# Largest content that is converted; a conversion needs the whole content in memory. [bytes]
MAX_CONVERTED = 64 << 20
# Largest image that is converted. [pixels]
MAX_PIXELS = 100_000_000
_MARGIN = 56.0  # Margin of a page, 2 cm. [pt]
_FONT, _SIZE, _LEADING, _COLUMNS = "Courier", 10, 12, 80


def can_convert(mime_type: str | None) -> bool:
    """Return True if content of a MIME type can be converted to PDF."""
    return mime_type is not None and mime_type.startswith(("text/", "image/"))


def to_pdf(data: bytes, mime_type: str, title: str) -> bytes:
    """Convert content to PDF.

    Raises
    ------
    Constraint
        If the MIME type cannot be converted, or an image is damaged or too large.
    """
    if not can_convert(mime_type):
        raise Constraint(f"no rendition of {mime_type}")
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, pageCompression=1, invariant=1)
    canvas.setTitle(title)
    if mime_type.startswith("image/"):
        _draw_image(canvas, data)
    else:
        _draw_text(canvas, data.decode("utf-8", "replace"))
    canvas.save()
    return buffer.getvalue()


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines() or [""]:
        # The standard fonts of PDF contain only characters of Latin 1; other characters become question marks.
        plain = line.expandtabs(4).encode("latin-1", "replace").decode("latin-1")
        yield from textwrap.wrap(plain, _COLUMNS, break_on_hyphens=False) or [""]


def _draw_text(canvas: Canvas, text: str) -> None:
    per_page = int((A4[1] - 2 * _MARGIN) // _LEADING)
    lines = list(_lines(text))
    for start in range(0, len(lines), per_page):
        page = canvas.beginText(_MARGIN, A4[1] - _MARGIN - _SIZE)
        page.setFont(_FONT, _SIZE, _LEADING)
        for line in lines[start : start + per_page]:
            page.textLine(line)
        canvas.drawText(page)
        canvas.showPage()


def _draw_image(canvas: Canvas, data: bytes) -> None:
    try:
        with Image.open(io.BytesIO(data)) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise Constraint(f"the image has {width} x {height} pixels, at most {MAX_PIXELS} can be converted")
        scale = min((A4[0] - 2 * _MARGIN) / width, (A4[1] - 2 * _MARGIN) / height)
        # A JPEG is embedded unchanged; images in other formats are decoded.
        canvas.drawImage(
            ImageReader(io.BytesIO(data)),
            _MARGIN,
            A4[1] - _MARGIN - height * scale,
            width * scale,
            height * scale,
        )
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        raise Constraint(f"the image cannot be converted: {str(error)[:120]}") from error
    canvas.showPage()
