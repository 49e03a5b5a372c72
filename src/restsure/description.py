"""Frozen descriptions: hashable, printable, and the same after a trip through JSON.

Policies, estimators, bounds and noises are small frozen dataclasses. They hold parameters and no state, so that one
description can be started many times, used as a key, printed in a report and written into a journal.
"""

import dataclasses
import json
from typing import Any, ClassVar, Self, TypeVar, cast

from restsure.errors import InvalidParameter

_Kind = TypeVar("_Kind", bound="type[Description]")


class Description:
    """Base of every frozen description; its subclasses are known by their class name."""

    _kinds: ClassVar[dict[str, "type[Description]"]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Description._kinds[cls.__name__] = cls

    def to_dict(self) -> dict[str, Any]:
        """The class name under ``kind``, and every parameter."""
        fields = dataclasses.fields(cast(Any, self))
        return {"kind": type(self).__name__} | {f.name: _plain(getattr(self, f.name)) for f in fields}

    @classmethod
    def from_dict(cls, entries: dict[str, Any]) -> Self:
        """The description that :meth:`to_dict` wrote; parameters are checked as at any other construction."""
        if not isinstance(entries, dict) or entries.get("kind") not in Description._kinds:
            known = ", ".join(sorted(name for name, kind in Description._kinds.items() if issubclass(kind, cls)))
            found = entries.get("kind") if isinstance(entries, dict) else entries
            raise InvalidParameter(f"kind={found!r}: must be one of {known}")
        kind = Description._kinds[entries["kind"]]
        if not issubclass(kind, cls):
            raise InvalidParameter(f"kind={kind.__name__!r}: must be a {cls.__name__}")
        parameters = {name: value for name, value in entries.items() if name != "kind"}
        unknown = parameters.keys() - {f.name for f in dataclasses.fields(cast(Any, kind))}
        if unknown:
            raise InvalidParameter(f"{min(unknown)}={parameters[min(unknown)]!r}: no parameter of {kind.__name__}")
        return kind(**{name: _rebuilt(value) for name, value in parameters.items()})

    def to_json(self) -> str:
        """The same as text; floats survive to the last bit."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The description that :meth:`to_json` wrote."""
        try:
            entries = json.loads(text)
        except (TypeError, ValueError) as error:
            raise InvalidParameter(f"text={text!r}: must be JSON ({error})") from None
        return cls.from_dict(entries)


def settle(description: Description, **values: Any) -> None:
    """Write checked values into a frozen dataclass; only for ``__post_init__``."""
    for name, value in values.items():
        object.__setattr__(description, name, value)


def _plain(value: Any) -> Any:
    return value.to_dict() if isinstance(value, Description) else value


def _rebuilt(value: Any) -> Any:
    return Description.from_dict(value) if isinstance(value, dict) else value
