"""Secret: a string that is never shown by accident."""

from __future__ import annotations


class Secret(str):
    """A string that neither prints nor logs itself; `reveal()` gives the value."""

    __slots__ = ()

    def reveal(self) -> str:
        return str.__str__(self)

    def __str__(self) -> str:
        return "***" if self.reveal() else ""

    def __repr__(self) -> str:
        return "Secret('***')" if self.reveal() else "Secret('')"

    def __format__(self, spec: str) -> str:
        return format("***" if self.reveal() else "", spec)
