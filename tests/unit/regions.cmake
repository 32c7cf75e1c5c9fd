# Unit tests of server/regions/: memory and sockets of this process only.

opserve_test(regions_unit_test
  SRCS regions_mapping_test.cc regions_segment_test.cc regions_socket_test.cc
  DEPS opserve::regions
  LABELS unit)
