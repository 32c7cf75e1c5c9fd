# The parts of the GPU path that need no GPU.

opserve_test(hlsl_unit_test
  SRCS hlsl_blobs_test.cc
  DEPS opserve::hlsl_blobs opserve::hlsl_render
  LABELS unit)
target_compile_definitions(hlsl_unit_test PRIVATE
  OPSERVE_HLSL_SOURCES="${PROJECT_SOURCE_DIR}/kernels/hlsl"
  OPSERVE_GOLDENS="${PROJECT_SOURCE_DIR}/tests/golden")
