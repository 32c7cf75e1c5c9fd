"""What machine a benchmark ran on, and how busy it was: absolute numbers mean nothing without it."""

import os
import platform


def processor():
    """The processor's name."""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def state():
    """A line: processor, how many, kernel, and the load of the last minute before the run."""
    return (f"{processor()}, {len(os.sched_getaffinity(0))} processors, Linux {platform.release()}, "
            f"load {os.getloadavg()[0]:.1f} before the run; client and server on one machine")
