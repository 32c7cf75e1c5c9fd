# Unit tests of server/resident/.

opserve_test(resident_unit_test
  SRCS resident_content_id_test.cc resident_store_test.cc
  DEPS opserve::resident
  LABELS unit)
