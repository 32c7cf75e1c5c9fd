# For programs that Microsoft's compiler builds: the client library and the command, against libraries of
# vcpkg (vcpkg/vcpkg.json). clang-cl, which comes with Visual Studio, compiles them, because they use attributes
# and built-in functions of GCC and Clang; programs of cl.exe link what it makes. See docs/windows.md.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR
    "opserve's sources are for clang-cl, not for ${CMAKE_CXX_COMPILER}; cmake --preset windows-msvc uses it")
endif()

find_package(absl CONFIG REQUIRED)
find_package(Protobuf CONFIG REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)

# Windows 10; windows.h without macros of everyday names.
add_compile_definitions(_WIN32_WINNT=0x0A00 NOMINMAX WIN32_LEAN_AND_MEAN)
link_libraries(ws2_32)

add_subdirectory(proto)
add_subdirectory(kernels)
add_subdirectory(client)

# What asks the processor for its instruction sets is in Clang's own library, which link.exe does not know of.
execute_process(
  COMMAND "${CMAKE_CXX_COMPILER}" /clang:--rtlib=compiler-rt /clang:-print-libgcc-file-name
  OUTPUT_VARIABLE builtins
  OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
file(TO_CMAKE_PATH "${builtins}" builtins)
target_link_libraries(opserve_tensor PRIVATE "${builtins}")

# Programs take UTF-8 everywhere.
target_sources(opserve PRIVATE "${PROJECT_SOURCE_DIR}/deploy/windows/program.manifest")
