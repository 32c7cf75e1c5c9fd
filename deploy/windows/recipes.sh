# shellcheck shell=bash
# shellcheck disable=SC2154,SC2164
# How each package of the sysroot is built: to be sourced by make-sysroot.sh, which sets `sysroot`,
# `source` and `build`, the package's folders, and `jobs`.

# with_cmake TARGETS [OPTION...]: configures, and builds the targets (a list in one word). -O2 is what Debian's
# libraries for Linux are compiled with; CMake's own choice, -O3, makes programs larger.
with_cmake() {
  local targets=$1
  shift
  cmake -S "$source" -B "$build" -G Ninja \
    -DCMAKE_TOOLCHAIN_FILE="$windows_folder/mingw-w64.cmake" -DOPSERVE_WINDOWS_SYSROOT="$sysroot" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_{C,CXX}_FLAGS_RELEASE='-O2 -DNDEBUG' \
    -DCMAKE_INSTALL_PREFIX="$sysroot" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_CXX_STANDARD=17 -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF "$@"
  # The word is a list.
  # shellcheck disable=SC2086
  ninja -C "$build" -j "$jobs" $targets
}

# without ARCHIVE...: stands in for archives that CMake would install with the others, and nothing links.
without() {
  local archive
  for archive in "$@"; do
    [[ -f $build/$archive ]] || printf '!<arch>\n' >"$build/$archive"
  done
}

build_abseil() {
  with_cmake all -DABSL_PROPAGATE_CXX_STD=ON -DABSL_ENABLE_INSTALL=ON
  cmake --install "$build"
}

build_c-ares() {
  # Asks for Windows Vista on the command line; Debian's fix of CVE-2023-31130 uses a name that only
  # POSIX' headers have.
  sed -i 's/-D_WIN32_WINNT=0x0600/-D_WIN32_WINNT=0x0A00/' "$source/CMakeLists.txt"
  sed -i 's/\<INADDRSZ\>/NS_INADDRSZ/g' "$source/src/lib/inet_net_pton.c"
  with_cmake all -DCARES_STATIC=ON -DCARES_SHARED=OFF -DCARES_BUILD_TOOLS=OFF
  cmake --install "$build"
}

build_re2() {
  # Debian takes generated tables out of the sources.
  make -C "$source" REBUILD_TABLES=1 re2/{perl_groups,unicode_groups,unicode_casefold}.cc
  with_cmake re2 -DRE2_BUILD_TESTING=OFF
  cmake --install "$build"
}

build_openssl() {
  mkdir -p "$build"
  cd "$build"
  "$source/Configure" mingw64 CC=gcc-posix CXX=g++-posix \
    --cross-compile-prefix=x86_64-w64-mingw32- --prefix="$sysroot" --libdir=lib \
    --openssldir=/nonexistent no-autoload-config no-shared no-module no-dso no-engine no-legacy \
    no-tests no-ui-console -D_WIN32_WINNT=0x0A00
  make -j "$jobs" build_libs
  make install_dev
}

build_protobuf() {
  with_cmake libprotobuf -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF \
    -Dprotobuf_BUILD_SHARED_LIBS=OFF -Dprotobuf_WITH_ZLIB=OFF
  without libprotobuf-lite.a
  cmake --install "$build"
}

build_grpc() {
  # It asks for Windows Vista on the command line.
  sed -i 's/-D_WIN32_WINNT=0x600)/-D_WIN32_WINNT=0x0A00)/' "$source/CMakeLists.txt"
  # The plugins, which are not built, would link the compiler's library; any file will do. Control planes
  # (xds: and route lookup) are used by nobody here, and would make a program megabytes larger.
  CXXFLAGS='-DGRPC_NO_XDS -DGRPC_NO_RLS' with_cmake "grpc++ grpc++_reflection" \
    -DgRPC_INSTALL=ON -DgRPC_BUILD_TESTS=OFF \
    -DgRPC_BUILD_CODEGEN=ON -DgRPC_BUILD_CSHARP_EXT=OFF -DgRPC_BACKWARDS_COMPATIBILITY_MODE=OFF \
    -DgRPC_BUILD_GRPC_{CPP,CSHARP,NODE,OBJECTIVE_C,PHP,PYTHON,RUBY}_PLUGIN=OFF \
    -DgRPC_{ABSL,CARES,PROTOBUF,RE2,SSL,ZLIB}_PROVIDER=package \
    -DProtobuf_PROTOC_LIBRARY="$sysroot/lib/libprotobuf.a"
  without libgrpc_unsecure.a libgrpc++_unsecure.a libgrpc++_alts.a libgrpc++_error_details.a \
    libgrpcpp_channelz.a libgrpc_plugin_support.a
  cmake --install "$build"
}

build_highway() {
  with_cmake "hwy hwy_contrib hwy_test"
  cmake --install "$build"
}

build_onetbb() {
  with_cmake tbb -DTBB_TEST=OFF -DTBB_EXAMPLES=OFF -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF \
    -DTBB_ENABLE_IPO=OFF -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON
  cmake --install "$build"
}

build_prometheus-cpp() {
  with_cmake all -DENABLE_PULL=OFF -DENABLE_PUSH=OFF -DENABLE_COMPRESSION=OFF -DENABLE_TESTING=OFF \
    -DGENERATE_PKGCONFIG=OFF
  cmake --install "$build"
}

# What extension modules are compiled with: headers, and an import library of python311.dll, with all names that
# Python has on this machine. The DLL itself comes with Python for Windows.
build_python3.11() {
  local headers=$sysroot/include/python3.11
  mkdir -p "$build"
  rm -rf "$headers"
  cp -r "$source/Include" "$headers"
  cp "$source/PC/pyconfig.h" "$headers"
  printf 'LIBRARY python311.dll\nEXPORTS\n' >"$build/python311.def"
  nm -D --defined-only /usr/bin/python3.11 | awk '$3 ~ /^_?Py/ {print $3}' >>"$build/python311.def"
  x86_64-w64-mingw32-dlltool -d "$build/python311.def" -l "$sysroot/lib/libpython311.dll.a"
}
