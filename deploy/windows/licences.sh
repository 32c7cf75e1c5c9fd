# shellcheck shell=bash
# The licences of what is linked for Windows: to be sourced.

# shellcheck source=deploy/windows/sysroot.sh
. "$(dirname "${BASH_SOURCE[0]}")/sysroot.sh"

# gather_licences FOLDER PACKAGE...: the licences of Debian's packages, those of the sysroot as of this machine, and in
# packages.txt their versions. What is missing ends the script, by its die.
gather_licences() {
  local folder=$1 package
  shift
  mkdir -p "$folder"
  for package; do
    if [[ -v version_of[$package] ]]; then
      install -m 644 "$sysroot/share/doc/$package/copyright" "$folder/$package.txt"
      printf '%s %s (source)\n' "$package" "${version_of[$package]}"
    else
      install -m 644 "/usr/share/doc/$package/copyright" "$folder/$package.txt" || die "$package has no copyright file"
      dpkg-query -W -f '${Package} ${Version}\n' "$package"
    fi
  done >"$folder/packages.txt"
}
