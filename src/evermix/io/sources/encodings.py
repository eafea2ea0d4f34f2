"""Files of text in other encodings, read as UTF-8."""

import codecs
import io
from typing import Any

BLOCK = 2**16  # bytes to read at a time
_MARKS = (  # with which files begin that say so themselves; the longer ones first
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
NOT_UTF8 = (
    "in UTF-8, got other bytes. If a file has another encoding, name it (on the command line: "
    "--encoding cp1252 if a program of Windows wrote it, or --encoding latin-1)."
)


def without_mark(head: bytes) -> str | None:
    """Return the encoding of a text that begins with these bytes, if every second one is zero."""
    zeros = [head[i::2].count(0) for i in (0, 1)]
    some = len(head) // 4  # most characters are those of ASCII
    if some and zeros[0] == 0 and zeros[1] > some:
        return "utf-16-le"
    return "utf-16-be" if some and zeros[1] == 0 and zeros[0] > some else None


def find_encoding(head: bytes) -> str | None:
    """Return the encoding of a file that begins with these bytes; None: they do not tell."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), None)


def other_than_utf8(name: str | None) -> str | None:
    """Return the name of an encoding, None for UTF-8; ValueError: it is none of text."""
    try:
        "".encode("utf-8" if name is None else name)
        found = "utf-8" if name is None else codecs.lookup(name).name
    except (LookupError, ValueError) as error:
        raise ValueError(
            f"encoding: expected the name of one that Python knows, such as latin-1, cp1252, "
            f"utf-16 or shift_jis, got {name!r:.80} (on the command line: --encoding)."
        ) from error
    return None if found in ("utf-8", "ascii") else name


class AsUtf8(io.RawIOBase):
    """A file in some encoding as bytes of UTF-8.

    Reading raises UnicodeDecodeError where it is in another one.
    """

    def __init__(self, file: Any, encoding: str) -> None:
        self._file, self._left = file, b""
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, and return how many bytes came."""
        ended = False
        while not (self._left or ended):
            block = self._file.read(BLOCK)
            ended = not block
            self._left = self._decoder.decode(block, final=ended).encode()
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size

    def close(self) -> None:
        """Close the file too."""
        self._file.close()
        super().close()
