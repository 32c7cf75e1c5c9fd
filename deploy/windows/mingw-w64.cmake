# Builds for Windows on x86-64 with Debian's mingw-w64. Programs need nothing but Windows' own DLLs.
# OPSERVE_WINDOWS_SYSROOT is the folder of the libraries that deploy/windows/make-sysroot.sh built; without
# them there are those of Debian's mingw-w64.

set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
# The variant with std::thread and std::mutex.
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
# Windows 10, in every library and program alike; windows.h without macros of everyday names.
set(CMAKE_C_FLAGS_INIT "-D_WIN32_WINNT=0x0A00 -DNOMINMAX -DWIN32_LEAN_AND_MEAN")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OPSERVE_WINDOWS_SYSROOT)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
if(OPSERVE_WINDOWS_SYSROOT)
  list(PREPEND CMAKE_FIND_ROOT_PATH "${OPSERVE_WINDOWS_SYSROOT}")
  set(CMAKE_PREFIX_PATH "${OPSERVE_WINDOWS_SYSROOT}")
  set(OPENSSL_ROOT_DIR "${OPSERVE_WINDOWS_SYSROOT}")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# CMake would prefer import libraries of DLLs.
set(OPENSSL_USE_STATIC_LIBS ON)
set(ZLIB_LIBRARY /usr/x86_64-w64-mingw32/lib/libz.a CACHE FILEPATH "")
set(ZLIB_INCLUDE_DIR /usr/x86_64-w64-mingw32/include CACHE PATH "")

# Tests run under Wine.
set(CMAKE_CROSSCOMPILING_EMULATOR "${CMAKE_CURRENT_LIST_DIR}/run-under-wine.sh")
