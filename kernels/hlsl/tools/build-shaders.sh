#!/usr/bin/env bash
# Compiles the GPU kernels whose text is new and writes kernels/hlsl/blobs. Run it after a change of the HLSL
# column of kernels/operators.def, of kernels/hlsl/*.hlsli or of kernels/hlsl/render.cc, and commit the result.
#
#   kernels/hlsl/tools/build-shaders.sh [BUILD_FOLDER]     default: build/release
#
# Needs vkd3d-compiler 2.0 or newer: the program in $VKD3D_COMPILER, else the one that
# deploy/shaders/fetch-vkd3d-compiler.sh installs.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
build=${1:-build/release}
compiler=${VKD3D_COMPILER:-$(deploy/shaders/fetch-vkd3d-compiler.sh)}

ninja -C "$build" shadergen >/dev/null
shadergen=$build/bin/shadergen

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$("$compiler" --version | head -n 1)
"$shadergen" render kernels/hlsl "$work" "$version"

compile() {
  "$1" -x hlsl -b dxbc-tpf -p cs_5_1 -e main "$2" -o "${2%.hlsl}.cso" 2>"$2.log" || {
    printf 'build-shaders: %s does not compile\n' "$2" >&2
    cat "$2.log" >&2
    return 1
  }
}
export -f compile
find "$work" -name '*.hlsl' -print0 | xargs -0 -r -P "$(nproc)" -n 1 bash -c 'compile "$@"' _ "$compiler"

mkdir -p kernels/hlsl/blobs
"$shadergen" pack kernels/hlsl "$work" kernels/hlsl/blobs "$version"
printf 'build-shaders: %s, %s bytes\n' "$version" "$(stat -c %s kernels/hlsl/blobs/kernels.bin)"
