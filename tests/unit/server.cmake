# Unit tests of server/: no connections, no threads where logic will do, simulated time.

find_package(gRPC CONFIG REQUIRED)

opserve_test(server_unit_test
  SRCS
    server_admission_test.cc
    server_client_identity_test.cc
    server_catalogue_test.cc
    server_errors_test.cc
    server_files_test.cc
    server_gpu_selection_test.cc
    server_host_buffers_test.cc
    server_log_test.cc
    server_program_options_test.cc
    server_request_cache_test.cc
    server_request_validator_test.cc
    server_wire_bytes_test.cc
    server_stream_parts_test.cc
    server_wire_split_test.cc
  DEPS opserve::server_program gRPC::grpc++
  LABELS unit)
target_compile_definitions(server_unit_test PRIVATE
  OPSERVE_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden")

# A million messages against protobuf's parser; a few seconds without sanitizers.
opserve_test(wire_differential_test
  SRCS server_wire_differential_test.cc
  DEPS opserve::service_core
  LABELS unit slow)
