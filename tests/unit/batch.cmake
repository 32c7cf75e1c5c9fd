# Unit tests of server/batch: no device; simulated time where time matters.

opserve_test(batch_unit_test
  SRCS batch_policy_test.cc batch_queue_gathering_test.cc batch_queue_model_test.cc
    batch_queue_test.cc batch_queue_threads_test.cc
  DEPS opserve::batch
  LABELS unit)
