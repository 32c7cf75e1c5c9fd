# The parts of the GPU path that need no GPU.

opserve_test(hlsl_unit_test
  SRCS hlsl_blobs_test.cc hlsl_render_test.cc
  DEPS opserve::hlsl_blobs opserve::hlsl_render
  LABELS unit)
target_compile_definitions(hlsl_unit_test PRIVATE
  OPSERVE_HLSL_SOURCES="${PROJECT_SOURCE_DIR}/kernels/hlsl"
  OPSERVE_GOLDENS="${PROJECT_SOURCE_DIR}/tests/golden")

opserve_test(d3d12_unit_test
  SRCS d3d12_caches_test.cc d3d12_content_cache_test.cc
    d3d12_content_transfers_test.cc d3d12_dispatch_test.cc d3d12_ring_allocator_test.cc
    d3d12_sequence_layout_test.cc d3d12_timeline_test.cc
  DEPS opserve::conformance_support opserve::d3d12 opserve::dispatch_model opserve::random_sequences
  LABELS unit)
