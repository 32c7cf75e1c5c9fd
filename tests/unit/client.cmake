# Unit tests of the client library and of the `opserve` command.

opserve_test(client_unit_test
  SRCS client_connections_test.cc client_devices_test.cc client_errors_test.cc client_impl_test.cc
    client_message_test.cc client_name_test.cc client_places_test.cc
    client_region_connection_test.cc client_resident_test.cc
    client_retry_test.cc client_sequence_test.cc client_stream_parts_test.cc
    client_stream_test.cc client_tensor_test.cc client_watchdog_test.cc
    client_wire_test.cc npy_test.cc
  DEPS opserve::client opserve::npy
  LABELS unit)

opserve_test(cli_unit_test
  SRCS cli_arguments_test.cc cli_bench_call_test.cc cli_histogram_test.cc cli_load_test.cc
    cli_report_test.cc cli_summary_test.cc
  DEPS opserve::cli
  LABELS unit)
