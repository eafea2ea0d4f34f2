"""The ids of what was learnt, so that what is sent twice is learnt once."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

SIZE = 16  # bytes of the digest of an id
KEPT = 200_000


class Remembered:
    """The last ids, as digests.

    Parameters
    ----------
    digests : iterable of bytes
        The oldest first.
    """

    def __init__(self, digests: Iterable[bytes] = ()) -> None:
        self._digests = dict.fromkeys(digests)

    def __contains__(self, id: str | None) -> bool:
        return id is not None and _digest(id) in self._digests

    def __len__(self) -> int:
        return len(self._digests)

    def add(self, ids: Sequence[str | None]) -> None:
        """Remember ids, but for None, and forget the oldest if there are too many."""
        if ids.count(None) == len(ids):
            return
        self._digests |= dict.fromkeys(_digest(id) for id in ids if id is not None)
        for _ in range(len(self._digests) - KEPT):
            del self._digests[next(iter(self._digests))]

    def new(self, ids: Sequence[str | None]) -> Sequence[int]:
        """Return the places of ids that are not remembered, each id once, and of None."""
        if ids.count(None) == len(ids):
            return range(len(ids))
        met, places = set[str](), list[int]()
        for i, id in enumerate(ids):
            if id is not None and (id in self or id in met):
                continue
            if id is not None:
                met.add(id)
            places.append(i)
        return places

    def to_spec(self) -> str:
        """Return all digests as text."""
        return b64encode(b"".join(self._digests)).decode()

    @classmethod
    def from_spec(cls, spec: Any) -> "Remembered":
        """Return what :meth:`to_spec` described."""
        whole = b64decode(spec)
        return cls(whole[at : at + SIZE] for at in range(0, len(whole), SIZE))


def _digest(id: str) -> bytes:
    return blake2b(id.encode(), digest_size=SIZE).digest()
