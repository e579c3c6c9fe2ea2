"""On which kind of file system a file lies: SQLite's write-ahead log is unsafe where hosts share files over a network (D16)."""

from __future__ import annotations

import os
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")

_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "smb2", "afs", "ncpfs", "ceph", "glusterfs", "lustre", "beegfs", "gfs2", "ocfs2", "fuse"}
)
_LOCAL_FUSE = frozenset({"fuse.fuse-overlayfs"})  # the root of rootless containers: one host, one kernel


def network_filesystem(path: str, mountinfo: Path | None = None) -> str | None:
    """The type of the file system if `path` lies on a shared or user-space one, else None; None also where the platform does not tell."""
    try:
        lines = (mountinfo or MOUNTINFO).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    kind = _type_at(os.path.realpath(path), lines)
    if kind is None or kind in _LOCAL_FUSE:
        return None
    return kind if kind in _NETWORK or kind.startswith("fuse.") else None


def _type_at(path: str, lines: list[str]) -> str | None:
    """The type of the mount nearest above `path`; of mounts on one point the last one is on top."""
    best, kind = "", None
    for line in lines:
        left, _, right = line.partition(" - ")
        fields, described = left.split(" "), right.split(" ")
        if len(fields) < 5 or not described[0]:
            continue
        point = _unescaped(fields[4])
        if len(point) >= len(best) and (path == point or path.startswith(point.rstrip("/") + "/")):
            best, kind = point, described[0]
    return kind


def _unescaped(text: str) -> str:
    """Blanks, tabs, line ends and backslashes are written as octal numbers."""
    for code in ("040", "011", "012", "134"):
        text = text.replace("\\" + code, chr(int(code, 8)))
    return text
