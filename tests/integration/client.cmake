# The client library against a real server in process; the `opserve` command and the installed package
# as programs.

opserve_test(client_integration_test
  SRCS client_test.cc
  DEPS opserve::client opserve::server
  LABELS integration)

find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
add_test(NAME cli_programs
  COMMAND "${SYSTEM_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/cli_test.py"
    --bin "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
set_tests_properties(cli_programs PROPERTIES LABELS integration TIMEOUT 300)

# A sanitized library needs a program built the same way.
add_test(NAME install_example
  COMMAND "${SYSTEM_PYTHON}" "${PROJECT_SOURCE_DIR}/tests/install/install_test.py"
    --build "${CMAKE_BINARY_DIR}" --compiler "${CMAKE_CXX_COMPILER}"
    "--flags=${CMAKE_CXX_FLAGS_SANITIZER}")
set_tests_properties(install_example PROPERTIES LABELS integration TIMEOUT 600)
