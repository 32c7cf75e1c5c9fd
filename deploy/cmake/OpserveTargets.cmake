# Settings and functions shared by all targets of the project.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

option(OPSERVE_PRECOMPILE_HEADERS "Read what most sources include of other libraries once for all of them" OFF)

# Checkouts share what they compiled: paths are relative to the checkout, those that sources know of themselves too.
if(NOT MSVC)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>")
endif()
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
    CCACHE_NOHASHDIR=1)
  if(OPSERVE_PRECOMPILE_HEADERS)
    # Macros are defined for precompiled headers as for the sources that use them, and no header reads the time.
    list(APPEND CMAKE_CXX_COMPILER_LAUNCHER CCACHE_SLOPPINESS=pch_defines,time_macros)
    if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
      # Clang is told of precompiled headers, and of nothing else, by options behind -Xclang. They say where the
      # headers are, whose content is compared itself.
      list(APPEND CMAKE_CXX_COMPILER_LAUNCHER CCACHE_IGNOREOPTIONS=-Xclang)
    endif()
  endif()
  list(APPEND CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()

# Warnings for our own code; generated code goes without.
add_library(opserve_warnings INTERFACE)
if(MSVC)
  # clang-cl takes -Wall for all that there are.
  target_compile_options(opserve_warnings INTERFACE /W4)
else()
  target_compile_options(opserve_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror
    # GCC 12 warns of overlap inside std::string's own operator+ (GCC bug 105329).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety;-Wthread-safety-beta>)
endif()

# Clang notes where the headers are that it precompiled: here relative to the build folder, for which it has the name
# of a root of headers.
function(opserve_home_of_headers TARGET)
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    target_compile_options(${TARGET} PRIVATE "SHELL:-Xclang -isysroot -Xclang \"${CMAKE_BINARY_DIR}\"")
  endif()
endfunction()

# opserve_precompile_headers(NAME fPIC|fPIE [DEPS ... HEADERS ...])
# What most sources include of the standard library, of gRPC and of Abseil, after those of HEADERS, for the
# compiler to put before the sources of libraries (fPIC) or programs (fPIE) that are compiled with the options of
# this directory; variables of directories tell which. Whether a source includes what it uses, builds without this
# option tell.
function(opserve_precompile_headers NAME CODE)
  cmake_parse_arguments(ARG "" "" "DEPS;HEADERS" ${ARGN})
  if(NOT OPSERVE_PRECOMPILE_HEADERS)
    return()
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${NAME}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Nothing but the headers before it.\n")
  add_library(${NAME} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} gRPC::grpc++ absl::status opserve_warnings)
  target_compile_options(${NAME} PRIVATE -${CODE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    target_compile_options(${NAME} PRIVATE "SHELL:-Xclang -relocatable-pch" "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  opserve_home_of_headers(${NAME})
  target_precompile_headers(${NAME} PRIVATE ${ARG_HEADERS}
    <grpcpp/grpcpp.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <algorithm> <functional> <thread>)
endfunction()

# Precompiled headers know whether there are threads, and hold only where sources are told the same.
function(opserve_reuse_headers TARGET NAME)
  if(TARGET "${NAME}")
    target_precompile_headers(${TARGET} REUSE_FROM ${NAME})
    target_compile_options(${TARGET} PRIVATE -pthread)
    opserve_home_of_headers(${TARGET})
  endif()
endfunction()

# opserve_library(NAME SRCS ... [PER_SYSTEM ...] DEPS ... [PRIVATE_DEPS ...])
# A static library opserve_NAME, also known as opserve::NAME. Includes are relative to the root. What
# files of PER_SYSTEM do takes other functions on Windows: there the file beside each is compiled in its place
# whose name ends in _windows.
function(opserve_library NAME)
  cmake_parse_arguments(ARG "" "" "SRCS;PER_SYSTEM;DEPS;PRIVATE_DEPS" ${ARGN})
  if(WIN32)
    list(TRANSFORM ARG_PER_SYSTEM REPLACE "\\.cc$" "_windows.cc")
    # windows.h and its macros are for these alone.
    set_source_files_properties(${ARG_PER_SYSTEM} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  add_library(opserve_${NAME} STATIC ${ARG_SRCS} ${ARG_PER_SYSTEM})
  add_library(opserve::${NAME} ALIAS opserve_${NAME})
  target_include_directories(opserve_${NAME} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
  target_link_libraries(opserve_${NAME}
    PUBLIC ${ARG_DEPS}
    PRIVATE ${ARG_PRIVATE_DEPS} $<BUILD_INTERFACE:opserve_warnings>)
  opserve_reuse_headers(opserve_${NAME} "${OPSERVE_LIBRARY_HEADERS}")
endfunction()

# opserve_test(NAME SRCS ... DEPS ... LABELS ... [ARGS ...] [SHARDS n] [TIMEOUT s] [CAN_SKIP])
# A GoogleTest program; tests link libraries and never pick .cc files of the product. With CAN_SKIP a
# program, or a shard of it, that skipped a test and failed none is reported as skipped.
function(opserve_test NAME)
  cmake_parse_arguments(ARG "CAN_SKIP" "SHARDS;TIMEOUT" "SRCS;DEPS;LABELS;ARGS" ${ARGN})
  add_executable(${NAME} ${ARG_SRCS})
  target_include_directories(${NAME} PRIVATE "${PROJECT_SOURCE_DIR}")
  set(main GTest::gtest_main)
  if(ARG_CAN_SKIP)
    set(main opserve::test_skipping_main)
  endif()
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} GTest::gmock ${main} opserve_warnings)
  opserve_reuse_headers(${NAME} "${OPSERVE_TEST_HEADERS}")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  math(EXPR last "${ARG_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(test "${NAME}")
    if(ARG_SHARDS GREATER 1)
      set(test "${NAME}_${shard}")
    endif()
    add_test(NAME ${test} COMMAND ${NAME} ${ARG_ARGS})
    set_tests_properties(${test} PROPERTIES
      LABELS "${ARG_LABELS}"
      TIMEOUT ${ARG_TIMEOUT}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard}")
    if(ARG_CAN_SKIP)
      set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77)
    endif()
  endforeach()
endfunction()
