#!/usr/bin/env python3
"""The unit that systemd gets: it is well formed, restricts the server, and leaves it its GPUs.

Exits with 77 where there is no systemd-analyze.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
UNIT = ROOT / "deploy" / "systemd" / "opserve.service"
SKIPPED = 77
# Tenths of systemd's measure of exposure, from 0 to 100.
MOST_EXPOSURE = 25
# Each of these keeps the server from GPUs, or their drivers from compiling shaders.
HIDES_GPUS = re.compile(r"^(MemoryDenyWriteExecute|PrivateDevices)=(yes|true|on|1)$", re.MULTILINE)
# What the server does its part for; see server/program/service_notifier.h.
NEEDED = ("Type=notify", "WatchdogSec=", "ExecReload=", "MemoryMax=", "TasksMax=")


def analyze(*arguments):
    """The exit code of systemd-analyze, and what it says."""
    done = subprocess.run(["systemd-analyze", "--no-pager", *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def faults(text, server):
    """What is wrong with the text of a unit, whose program is at `server`."""
    found = [f"{match.group(0)} keeps GPUs from the server" for match in HIDES_GPUS.finditer(text)]
    found += [f"there is no {needed}" for needed in NEEDED
              if not re.search(f"^{needed}", text, flags=re.MULTILINE)]
    if "DevicePolicy=" in text and "DeviceAllow=char-drm" not in text:
        found.append("the devices of GPUs are closed")
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / UNIT.name
        unit.write_text(text.replace("/usr/local/bin/opserve-server", str(server)), encoding="utf-8")
        # Of what it only warns of, what other units of the machine get wrong is not this unit's.
        found += [line for line in analyze("verify", unit)[1].splitlines() if UNIT.name in line]
        exposed, measures = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSURE}", unit)
        if exposed:
            found.append(measures)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True, type=pathlib.Path)
    server = parser.parse_args().server
    if shutil.which("systemd-analyze") is None:
        print("skipped: there is no systemd-analyze")
        return SKIPPED
    text = UNIT.read_text(encoding="utf-8")
    wrong = faults(text, server)
    for fault in wrong:
        print(fault, file=sys.stderr)
    for spoilt in ("MemoryDenyWriteExecute=yes", "PrivateDevices=yes", "Type=none such"):
        if not faults(text.replace("[Install]", f"[Service]\n{spoilt}\n[Install]"), server):
            print(f"{spoilt} is not noticed", file=sys.stderr)
            wrong.append(spoilt)
    if not faults(text.replace("Type=notify", "Type=exec"), server):
        print("a unit that does not wait for the server is not noticed", file=sys.stderr)
        wrong.append("notify")
    if not faults(re.sub(r"^(Protect|Restrict|SystemCall|NoNew|Capab|Dynamic).*$", "", text,
                         flags=re.MULTILINE), server):
        print("a unit without restrictions is not noticed", file=sys.stderr)
        wrong.append("exposure")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
