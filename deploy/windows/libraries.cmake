# Where the programs find their libraries: those of the sysroot, and headers and tools of the machine that
# builds them.

find_package(absl CONFIG REQUIRED)
find_package(Protobuf CONFIG REQUIRED)
# The sysroot's gRPC was built without its tools.
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
add_executable(gRPC::grpc_cpp_plugin IMPORTED GLOBAL)
set_target_properties(gRPC::grpc_cpp_plugin PROPERTIES IMPORTED_LOCATION "${GRPC_CPP_PLUGIN}")
if(NOT TARGET protobuf::protoc)
  find_program(PROTOC protoc REQUIRED)
  add_executable(protobuf::protoc IMPORTED GLOBAL)
  set_target_properties(protobuf::protoc PROPERTIES IMPORTED_LOCATION "${PROTOC}")
endif()
find_package(gRPC CONFIG REQUIRED)

# Libraries that are headers alone are the machine's own, without its other headers.
set(host_headers "${CMAKE_BINARY_DIR}/host-headers")
file(MAKE_DIRECTORY "${host_headers}")
foreach(folder CLI fmt nlohmann spdlog toml++)
  file(CREATE_LINK /usr/include/${folder} "${host_headers}/${folder}" SYMBOLIC)
endforeach()
foreach(library CLI11::CLI11 nlohmann_json::nlohmann_json spdlog::spdlog tomlplusplus::tomlplusplus)
  string(REGEX REPLACE "::.*" "" package ${library})
  add_library(host_${package} INTERFACE)
  add_library(${library} ALIAS host_${package})
  target_include_directories(host_${package} SYSTEM INTERFACE "${host_headers}")
  # find_package() has nothing left to find.
  file(WRITE "${CMAKE_BINARY_DIR}/found/${package}Config.cmake" "")
  set(${package}_DIR "${CMAKE_BINARY_DIR}/found")
endforeach()
target_compile_definitions(host_spdlog INTERFACE SPDLOG_HEADER_ONLY SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)

# What the libraries use of Windows.
link_libraries(ws2_32 crypt32 bcrypt iphlpapi dnsapi dbghelp psapi)
