#!/usr/bin/env bash
# What the scripts of the bundle know about ELF files. To be sourced.

# Whether a library is part of glibc, which a bundle never holds: it must fit the machine's linker.
is_glibc() {
  case $1 in
    ld-linux-x86-64.so.2 | libc.so.6 | libm.so.6 | libmvec.so.1 | libdl.so.2 | libpthread.so.0 | \
      librt.so.1 | libresolv.so.2 | libutil.so.1 | libanl.so.1 | libnss_*.so.2) return 0 ;;
    *) return 1 ;;
  esac
}

# The libraries that the dynamic linker loads with an ELF file: one line "NAME PATH" each, or "NAME not"
# where there is none.
resolved_libraries() {
  env -u LD_LIBRARY_PATH -u LD_PRELOAD ldd "$1" 2>/dev/null | awk '$2 == "=>" {print $1, $3}'
}
