# The client library against a real server in process; the `opserve` command and the installed package
# as programs.

opserve_test(client_calls_test
  SRCS client_compare_test.cc client_devices_test.cc client_hosts_test.cc client_lease_test.cc client_test.cc
  DEPS opserve::cli opserve::client opserve::npy opserve_integration opserve::test_devices
  LABELS integration
  SHARDS 2)
target_compile_definitions(client_calls_test PRIVATE
  OPSERVE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")

opserve_test(client_paths_test
  SRCS client_ops_test.cc client_paths_test.cc client_resident_test.cc client_sequence_test.cc network_address.cc
  DEPS opserve::cli opserve::client opserve_integration opserve::test_devices
  LABELS integration)

# Beside servers that are programs.
opserve_test(client_processes_test
  SRCS client_reconnect_test.cc client_regions_test.cc client_stream_test.cc server_process.cc
    stream_faults_test.cc
  DEPS opserve::client opserve_integration
  LABELS integration
  SHARDS 2)
target_compile_definitions(client_processes_test PRIVATE
  OPSERVE_PROGRAM="$<TARGET_FILE:opserve>"
  OPSERVE_SERVER_PROGRAM="$<TARGET_FILE:opserve-server>")
add_dependencies(client_processes_test opserve opserve-server)
# Sanitizers have an allocator of their own.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Sanitizer")
  opserve_test(client_stream_memory_test
    SRCS stream_memory_test.cc server_process.cc
    DEPS opserve::client GTest::gtest
    LABELS integration)
  target_compile_definitions(client_stream_memory_test PRIVATE
    OPSERVE_SERVER_PROGRAM="$<TARGET_FILE:opserve-server>")
  add_dependencies(client_stream_memory_test opserve-server)
endif()

opserve_test(client_connect_test
  SRCS client_connect_test.cc
  DEPS opserve::cli gRPC::grpc++
  LABELS integration)
target_compile_definitions(client_connect_test PRIVATE
  OPSERVE_MAKE_CERTIFICATES="${PROJECT_SOURCE_DIR}/tests/testing/make_certificates.sh")

opserve_test(client_first_connection_test
  SRCS first_connection_test.cc
  DEPS opserve::client absl::base
  LABELS integration)

# Before what is no server of ours.
opserve_test(client_peers_test
  SRCS client_end_test.cc client_memory_test.cc client_missing_answer_test.cc
  DEPS opserve::client gRPC::grpc++
  LABELS integration)

# The examples of the public headers and of the documentation, as a program.
file(GLOB example_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/client/include/opserve/*.h")
list(APPEND example_sources "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/docs/api.md")
set(examples "${CMAKE_CURRENT_BINARY_DIR}/examples_test.cc")
add_custom_command(OUTPUT "${examples}"
  COMMAND /usr/bin/python3 "${CMAKE_CURRENT_LIST_DIR}/examples/make_examples.py" ${example_sources} > "${examples}"
  DEPENDS ${example_sources} "${CMAKE_CURRENT_LIST_DIR}/examples/make_examples.py"
  VERBATIM)
opserve_test(examples_test
  SRCS "${examples}"
  DEPS opserve::client opserve_integration
  LABELS integration)
# Examples call things as their readers would, and do not use all of it.
set_source_files_properties("${examples}" PROPERTIES
  COMPILE_OPTIONS "-Wno-shadow;-Wno-unused-variable;-Wno-unused-but-set-variable")

if(TARGET opserve-server)
  foreach(test cli_test cli_tensor_test cli_sequence_test cli_compare_test cli_inputs_test
    cli_completion_test cli_docs_test cli_files_test)
    add_test(NAME ${test}
      COMMAND /usr/bin/python3 "${CMAKE_CURRENT_LIST_DIR}/${test}.py"
        --bin "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
    set_tests_properties(${test} PROPERTIES LABELS integration TIMEOUT 300)
  endforeach()

  # A sanitized library needs a program built the same way.
  add_test(NAME install_test
    COMMAND /usr/bin/python3 "${PROJECT_SOURCE_DIR}/tests/install/install_test.py"
      --build "${PROJECT_BINARY_DIR}" --compiler "${CMAKE_CXX_COMPILER}"
      "--flags=${CMAKE_CXX_FLAGS_SANITIZER}")
  set_tests_properties(install_test PROPERTIES LABELS integration TIMEOUT 600)
endif()
