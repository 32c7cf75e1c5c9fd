# The wheel of the Python package: built where deploy/setup.sh could install what that needs into .venv.
# Not with sanitizers, which Python's interpreter does not have.

set(opserve_venv_python "${PROJECT_SOURCE_DIR}/.venv/bin/python")
execute_process(COMMAND "${opserve_venv_python}" -c "import nanobind, numpy, scikit_build_core"
  RESULT_VARIABLE without_nanobind OUTPUT_QUIET ERROR_QUIET)
if(without_nanobind OR CMAKE_BUILD_TYPE STREQUAL "Sanitizer")
  return()
endif()

set(wheel "${CMAKE_BINARY_DIR}/wheel")
file(GLOB wheel_sources CONFIGURE_DEPENDS
  python/CMakeLists.txt python/pyproject.toml python/core/*.cc python/core/*.h python/opserve/*)
add_custom_command(OUTPUT "${wheel}/built"
  COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/python/build-wheel.sh" "${opserve_venv_python}" "${CMAKE_BINARY_DIR}" "${wheel}"
  COMMAND "${CMAKE_COMMAND}" -E touch "${wheel}/built"
  DEPENDS ${packaged_targets} ${wheel_sources} python/build-wheel.sh
  COMMENT "Building the wheel of the Python package"
  VERBATIM)
add_custom_target(python_wheel ALL DEPENDS "${wheel}/built")
