# What is built for Windows. Debian has no Abseil and no GoogleTest for mingw-w64, so both are built from
# Debian's sources of them. Where deploy/windows/make-sysroot.sh has built the other libraries, all of opserve
# is built; without them the kernels' GPU side, the Direct3D 12 layer, and their tests.

set(OPSERVE_WINDOWS_SYSROOT "" CACHE PATH
  "Libraries for Windows; deploy/windows/make-sysroot.sh puts them there; empty: without the programs")
set(OPSERVE_ABSEIL_SOURCES "${CMAKE_BINARY_DIR}/abseil" CACHE PATH
  "Sources of Abseil, where the sysroot has none; deploy/windows/fetch-abseil.sh puts them there")
set(OPSERVE_GOOGLETEST_SOURCES /usr/src/googletest CACHE PATH "Sources of GoogleTest")

enable_language(RC)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
set(ABSL_PROPAGATE_CXX_STD ON)
set(BUILD_TESTING OFF)
set(INSTALL_GTEST OFF)
set(from_sources GOOGLETEST)
if(NOT OPSERVE_WINDOWS_SYSROOT)
  list(APPEND from_sources ABSEIL)
endif()
foreach(dependency ${from_sources})
  string(TOLOWER ${dependency} folder)
  add_subdirectory("${OPSERVE_${dependency}_SOURCES}" ${folder} EXCLUDE_FROM_ALL SYSTEM)
endforeach()
foreach(library gtest gtest_main gmock gmock_main)
  if(NOT TARGET GTest::${library})
    add_library(GTest::${library} ALIAS ${library})
  endif()
endforeach()

if(OPSERVE_WINDOWS_SYSROOT)
  # All of opserve is much: up to 16 files of a library are compiled together.
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
  # GCC does not align the stack for AVX's registers on Windows (GCC bug 54412), so no move may need that.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wa,-muse-unaligned-vector-move>")
  include(deploy/windows/libraries.cmake)
  add_subdirectory(kernels)
  # As for Linux: what follows computes little.
  add_compile_options("$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O2>")
  add_subdirectory(proto)
  add_subdirectory(client)
  add_subdirectory(server)
  # It uses the headers of toml++ and no target, because that would be a library on Linux.
  target_include_directories(opserve_access SYSTEM PRIVATE "${host_headers}")
else()
  add_subdirectory(kernels)
  add_subdirectory(client/inputs)
  add_subdirectory(server/d3d12)
endif()
# Programs take UTF-8 everywhere.
foreach(program opserve opserve-server)
  if(TARGET ${program})
    target_sources(${program} PRIVATE "${PROJECT_SOURCE_DIR}/deploy/windows/program.rc")
  endif()
endforeach()
enable_testing()
add_subdirectory(tests/windows)
