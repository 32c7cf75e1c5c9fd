# Unit tests of server/: no gRPC, no threads where logic will do, simulated time.

opserve_test(server_unit_test
  SRCS
    server_admission_test.cc
    server_client_identity_test.cc
    server_catalogue_test.cc
    server_errors_test.cc
    server_files_test.cc
    server_gpu_selection_test.cc
    server_log_test.cc
    server_program_options_test.cc
    server_request_cache_test.cc
    server_request_validator_test.cc
  DEPS opserve::server_program
  LABELS unit)
target_compile_definitions(server_unit_test PRIVATE
  OPSERVE_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden")
