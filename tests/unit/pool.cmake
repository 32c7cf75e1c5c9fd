# The device pool: state machine, costs and placement as pure functions, the pool with devices that
# do what the test says.

opserve_test(pool_unit_test
  SRCS
    pool_cost_model_test.cc
    pool_device_pool_test.cc
    pool_failover_test.cc
    pool_health_test.cc
    pool_home_test.cc
    pool_inline_test.cc
    pool_placement_test.cc
    pool_result_check_test.cc
    pool_self_test_test.cc
    pool_sequence_test.cc
  DEPS opserve::cpu_device opserve::pool opserve::test_devices
  LABELS unit)

opserve_test(pool_fault_test
  SRCS pool_fault_test.cc
  DEPS opserve::pool opserve::test_devices
  LABELS unit)

find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
opserve_test(server_gpu_readiness_test
  SRCS server_gpu_readiness_test.cc
  DEPS opserve::server opserve::pool opserve::test_devices gRPC::grpc++
  LABELS unit)
