#!/usr/bin/env bash
# Installs what opserve needs on Debian 12, and only what is missing.
#
#   deploy/setup.sh [--check] [--print] [GROUP...]
#
#   build    compilers, CMake and the libraries the programs link
#   test     what the tests and the demo need beside that
#   peers    programs that read what the server shows, that stand before it, or how it is deployed, each with tests of its
#            own that are skipped without it: Prometheus, HAProxy and nginx, whose services stay off, what makes networks
#            of their own for hosts, Chromium with its driver, docker-compose, in a Python environment in .venv
#            tritonclient, kubernetes-validate and Ray, in build/release/tools Triton's perf_analyzer and, where there is
#            Go, the programs of deploy/go-tools (goes on without where they cannot be installed)
#   lint     clang-format, clang-tidy, shellcheck
#   clang    Clang with its sanitizers and libFuzzer
#   bundle   what `make bundle` and `make deb` pack and use beside what the build needs
#   bench    what plots need, and a Python environment in .venv with ONNX Runtime (goes on without where
#            pip cannot install it)
#   python   what the Python package is built from and tested with, in .venv: nanobind, scikit-build-core, pytest, mypy
#            (goes on without where pip cannot install it)
#   windows  the cross compiler for Windows, Wine, and the sources of Abseil in build/windows
#   windows-sysroot
#            what builds the libraries of programs for Windows (deploy/windows/make-sysroot.sh)
#   image    what `make check-image` uses
#   runtime  the shared libraries that the programs link, for run-time images
#   gpu      those that they load for GPUs, and what NVIDIA's Vulkan driver links; drivers come with the container run time
#
# Without a group: build and test. Does nothing, quickly, where nothing is missing. Needs root, or a
# user who may use sudo. --check changes nothing and exits with 1 where a package is missing;
# --print writes the package names of the groups.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

declare -A packages_of=(
  [build]="ca-certificates ccache cmake directx-headers-dev g++ git make ninja-build pkg-config
    libabsl-dev libcli11-dev libgrpc++-dev libhwy-dev libprotobuf-dev libspdlog-dev libssl-dev libtbb-dev
    libtomlplusplus-dev libvulkan-dev nlohmann-json3-dev prometheus-cpp-dev protobuf-compiler protobuf-compiler-grpc zlib1g-dev"
  # groff and zsh check what opserve writes for man and for shells, prometheus its metrics; MPFR knows what elementary functions
  # are, matplotlib draws the report of load tests; the last four are a Direct3D 12 device in software, and what checks how it is used.
  [test]="groff-base libgmock-dev libgtest-dev libmpfr-dev openssl prometheus python3 python3-h2 python3-matplotlib python3-numpy zsh
    libvkd3d1 libvulkan1 mesa-vulkan-drivers vulkan-validationlayers"
  [peers]="chromium chromium-driver docker-compose haproxy iproute2 nginx prometheus python3-venv"
  # The headers are for the plugin of clang-tidy.
  [lint]="clang-format-14 clang-tidy-14 libclang-14-dev llvm-14-dev shellcheck"
  [clang]="clang-14 libclang-rt-14-dev libfuzzer-14-dev lld-14"
  [bundle]="binutils dpkg-dev libvkd3d1 libvulkan1 patchelf"
  [bench]="python3 python3-matplotlib python3-venv"
  [python]="python3-dev python3-numpy python3-venv"
  # dpkg-dev unpacks the sources; the last line is Wine with a display and a Vulkan driver.
  [windows]="ccache cmake directx-headers-dev dpkg-dev g++-mingw-w64-x86-64-posix googletest libz-mingw-w64-dev ninja-build python3 python3-numpy
    libgl1-mesa-dri libvulkan1 mesa-vulkan-drivers wine wine64 xauth xvfb zip"
  [windows-sysroot]="cmake dpkg-dev g++-mingw-w64-x86-64-posix libz-mingw-w64-dev make ninja-build patch perl protobuf-compiler
    protobuf-compiler-grpc python3-six unicode-data"
  [image]="debootstrap git python3"
  # The last two are what NVIDIA's Vulkan driver links, also where there is no screen: the container run time mounts the
  # driver without them.
  [gpu]="libvkd3d1 libvulkan1 libx11-6 libxext6"
  # What opserve-server and opserve link; deploy/check-image-packages.sh compares it with them.
  [runtime]="libabsl20220623 libfmt9 libgcc-s1 libgrpc++1.51 libgrpc29 libhwy1
    libprometheus-cpp-core1.0 libprotobuf32 libspdlog1.10 libssl3 libstdc++6 libtbb12"
)

say() { printf 'setup: %s\n' "$*"; }
die() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

is_installed() {
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true) == installed ]]
}

# Runs a command as root.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "must install packages; run it as root, or install sudo"
  fi
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 \
    -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "$@"
}

install_packages() {
  local missing=("$@")
  say "installing ${#missing[@]} packages: ${missing[*]}"
  say "updating the package lists"
  apt update >/dev/null || die "apt-get update failed; is the network reachable?"
  # One line per package as it is unpacked and configured.
  apt install --no-install-recommends "${missing[@]}" |
    sed -un 's/^Unpacking \([^ ]*\).*/setup:   unpacking \1/p; s/^Setting up \([^ ]*\).*/setup:   ready: \1/p'
}

# Sees to it that a service of a package that is to be installed does not start: tests only want the program.
# `systemctl unmask SERVICE` takes it back.
keep_from_starting() {
  local unit=/etc/systemd/system/$1.service
  [[ -d /run/systemd/system && ! -e $unit && ! -L $unit ]] || return 0
  as_root ln -s /dev/null "$unit"
}

# install_python TITLE MODULES WITHOUT PACKAGE...: sees that .venv has some modules, by installing packages of PyPI. Optional:
# where it cannot, it says what that means.
install_python() {
  local title=$1 module=$2 without=$3
  shift 3
  if .venv/bin/python -c "import $module" 2>/dev/null; then
    return
  fi
  say "installing $title into .venv"
  if /usr/bin/python3 -m venv .venv &&
    .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; then
    say "$title is ready in .venv"
  else
    say "$title cannot be installed here; $without"
  fi
}

# Installs the programs of deploy/go-tools, where there is Go. Optional: tests that cannot go without say so.
install_go_tools() {
  if ! PATH=$PATH:/usr/local/go/bin command -v go >/dev/null; then
    say "Go is not installed; the tests of ghz, grpcurl and kustomize are skipped"
  elif ! /usr/bin/python3 tests/testing/go_tool.py build/release/tools; then
    say "ghz, grpcurl or kustomize cannot be installed here; their tests are skipped"
  fi
}

# Sets `missing` to the packages of the given groups that are not installed.
find_missing() {
  local group package
  missing=()
  for group in "$@"; do
    for package in ${packages_of[$group]}; do
      is_installed "$package" || missing+=("$package")
    done
  done
}

main() {
  local mode=install groups=()
  while (($#)); do
    case $1 in
      --check) mode=check ;;
      --print) mode=print ;;
      -h | --help)
        sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
        return
        ;;
      -*) die "unknown option '$1'; see deploy/setup.sh --help" ;;
      *)
        [[ -v packages_of[$1] ]] || die "unknown group '$1'; see deploy/setup.sh --help"
        groups+=("$1")
        ;;
    esac
    shift
  done
  ((${#groups[@]})) || groups=(build test)

  if [[ $mode == print ]]; then
    local group
    for group in "${groups[@]}"; do
      xargs -n 1 <<<"${packages_of[$group]}"
    done
    return
  fi
  command -v dpkg-query >/dev/null || die "needs Debian 12, or a system with its packages"
  local missing
  find_missing "${groups[@]}"
  if ((${#missing[@]})); then
    [[ $mode == install ]] || die "missing: ${missing[*]}"
    local service
    for service in haproxy nginx prometheus; do
      [[ " ${missing[*]} " != *" $service "* ]] || keep_from_starting "$service"
    done
    install_packages "${missing[@]}"
  fi
  if [[ $mode == install && " ${groups[*]} " == *" bench "* ]]; then
    install_python "ONNX Runtime" onnxruntime "benchmarks run without that comparison" numpy onnxruntime
  fi
  if [[ $mode == install && " ${groups[*]} " == *" peers "* ]]; then
    install_python tritonclient tritonclient.grpc "its test is skipped" numpy 'tritonclient[grpc]'
    install_python kubernetes-validate "kubernetes_validate, grpc" "its tests are skipped" grpcio kubernetes-validate
    install_python Ray ray "its test is skipped" numpy ray==2.60.0
    tests/kserve/fetch-perf-analyzer.sh build/release/tools/perf-analyzer ||
      say "perf_analyzer cannot be installed here; its test is skipped"
    install_go_tools
  fi
  if [[ $mode == install && " ${groups[*]} " == *" python "* ]]; then
    # The versions that client/python/pyproject.toml wants.
    install_python "what the Python package is built with" mypy,nanobind,numpy,pytest,scikit_build_core \
      "it is not built" mypy 'nanobind>=3.1,<4' numpy pytest 'scikit-build-core>=1.1,<2'
  fi
  if [[ $mode == install && " ${groups[*]} " == *" windows "* ]]; then
    deploy/windows/fetch-abseil.sh build/windows/abseil || die "cannot get the sources of Abseil"
  fi
  say "ready (${groups[*]})"
}

main "$@"
