"""The system calls that SQLite makes, seen from Python: its own test interface lets a call be replaced."""

import _sqlite3
import ctypes
from collections.abc import Callable
from typing import Any

_SIZE, _OFFSET, _TEXT, _PLACE = ctypes.c_size_t, ctypes.c_longlong, ctypes.c_char_p, ctypes.c_void_p
CALLS = {  # that change a file, with what they return and take
    b"pwrite64": (ctypes.c_ssize_t, ctypes.c_int, _PLACE, _SIZE, _OFFSET),
    b"pwrite": (ctypes.c_ssize_t, ctypes.c_int, _PLACE, _SIZE, _OFFSET),
    b"write": (ctypes.c_ssize_t, ctypes.c_int, _PLACE, _SIZE),
    b"ftruncate": (ctypes.c_int, ctypes.c_int, _OFFSET),
    b"unlink": (ctypes.c_int, _TEXT),
}
_kept = list[Any]()  # what is called from C must not be collected


class _Vfs(ctypes.Structure):
    """``sqlite3_vfs``, version 3: three numbers, three pointers, thirteen functions, and those that replace calls."""


_SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Vfs), _TEXT, _PLACE)
_GET = ctypes.CFUNCTYPE(_PLACE, ctypes.POINTER(_Vfs), _TEXT)
_Vfs._fields_ = [
    *((name, ctypes.c_int) for name in ("iVersion", "szOsFile", "mxPathname")),
    *((f"pointer{k}", _PLACE) for k in range(3)),
    *((f"function{k}", _PLACE) for k in range(13)),
    ("xSetSystemCall", _SET),
    ("xGetSystemCall", _GET),
]


def _vfs() -> Any:
    library = ctypes.PyDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    vfs = library.sqlite3_vfs_find(None)
    assert vfs.contents.iVersion >= 3
    return vfs


def before_each_write(do: Callable[[], int]) -> None:
    """Have ``do`` called before SQLite changes a file, in this process; if it returns a number, the call fails with that."""
    vfs = _vfs()
    for name, kinds in CALLS.items():
        kind = ctypes.CFUNCTYPE(*kinds, use_errno=True)
        if not (place := vfs.contents.xGetSystemCall(vfs, name)):
            continue
        original = kind(place)

        def replaced(*given: Any, original: Any = original) -> Any:
            if number := do():
                ctypes.set_errno(number)
                return -1
            return original(*given)

        _kept.append(kind(replaced))
        assert vfs.contents.xSetSystemCall(vfs, name, ctypes.cast(_kept[-1], _PLACE)) == 0


def as_before() -> None:
    """SQLite makes its calls itself again."""
    vfs = _vfs()
    for name in CALLS:
        vfs.contents.xSetSystemCall(vfs, name, None)
    _kept.clear()
