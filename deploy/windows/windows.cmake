# What is built for Windows: the kernels' GPU side, the Direct3D 12 layer, and their tests. Debian has
# no Abseil and no GoogleTest for mingw-w64, so both are built from Debian's sources of them.

set(OPSERVE_ABSEIL_SOURCES "${CMAKE_BINARY_DIR}/abseil" CACHE PATH
  "Sources of Abseil; deploy/windows/fetch-abseil.sh puts them there")
set(OPSERVE_GOOGLETEST_SOURCES /usr/src/googletest CACHE PATH "Sources of GoogleTest")

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
set(ABSL_PROPAGATE_CXX_STD ON)
set(BUILD_TESTING OFF)
set(INSTALL_GTEST OFF)
foreach(dependency ABSEIL GOOGLETEST)
  string(TOLOWER ${dependency} folder)
  add_subdirectory("${OPSERVE_${dependency}_SOURCES}" ${folder} EXCLUDE_FROM_ALL SYSTEM)
endforeach()
foreach(library gtest gtest_main gmock gmock_main)
  if(NOT TARGET GTest::${library})
    add_library(GTest::${library} ALIAS ${library})
  endif()
endforeach()

add_subdirectory(kernels)
add_subdirectory(client/inputs)
add_subdirectory(server/d3d12)
enable_testing()
add_subdirectory(tests/windows)
