"""A store whose database fails until it is repaired."""

from typing import Any

from location_context.errors import StorageError


class FailingStore:
    """Every call of `store` raises `StorageError` while `failing`."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.failing = True

    def __getattr__(self, name: str) -> Any:
        async def call(*given: Any) -> Any:
            if self.failing:
                raise StorageError("The database cannot be used: the disk is full.")
            return await getattr(self._store, name)(*given)

        return call
