# Connections within one machine: sockets of this process only.

opserve_test(transport_unit_test
  SRCS transport_loopback_test.cc
  DEPS opserve::server opserve::transport gRPC::grpc++
  LABELS unit
  CAN_SKIP)
