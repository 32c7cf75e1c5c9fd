"""How much memory a process holds."""

import pathlib


def rss(pid):
    """Bytes of memory that the process holds."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) << 10
    raise RuntimeError("no VmRSS")
