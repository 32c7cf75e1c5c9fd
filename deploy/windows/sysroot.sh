# shellcheck shell=bash
# shellcheck disable=SC2034
# What builds the sysroot, and what looks whether it is there: to be sourced.
#
# The sysroot holds, as static libraries for Windows, what opserve-server links and Debian has for Linux
# alone. It is outside the build folder: a new one takes 20 to 40 minutes.

windows_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sysroot=$(realpath -m "${OPSERVE_WINDOWS_SYSROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/opserve/windows-sysroot}")

# Debian's source packages, in the order in which they need each other: those that the client library links, those
# that programs link, and all.
client_packages=(abseil c-ares re2 openssl protobuf grpc)
linked_packages=("${client_packages[@]}" highway onetbb prometheus-cpp)
sysroot_packages=("${linked_packages[@]}" python3.11)
# As in the package lists of Debian 12.
declare -A version_of=(
  [abseil]=20220623.1-1+deb12u2
  [c-ares]=1.18.1-3
  [grpc]=1.51.1-3
  [highway]=1.0.3-3+deb12u1
  [onetbb]=2021.8.0-2+deb12u1
  [openssl]=3.0.20-1~deb12u2
  [prometheus-cpp]=1.0.1-1
  [protobuf]=3.21.12-3+deb12u1
  [python3.11]=3.11.2-6+deb12u8
  [re2]=20220601+dfsg-1
)

# identity PACKAGE: what the package in the sysroot is made of. It changes with the version, the commands
# of recipes.sh, the compiler's settings and the patches.
identity() {
  printf '%s %s\n' "${version_of[$1]}" "$({
    sed -n "/^build_$1()/,/^}/p; /^with_cmake()/,/^}/p" "$windows_folder/recipes.sh"
    grep -v -e EMULATOR -e '^#' "$windows_folder/mingw-w64.cmake"
    find "$windows_folder/patches" -name "$1-*.patch" | sort | xargs -r cat
  } | sha256sum | cut -c 1-16)"
}

# is_built PACKAGE: whether the sysroot has it as it would be built now.
is_built() {
  local stamp=$sysroot/.built/$1
  [[ -f $stamp && $(head -n 1 "$stamp") == "$(identity "$1")" ]]
}
