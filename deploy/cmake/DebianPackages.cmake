# Three Debian packages by CPack, of the components server, command and client. `make deb` packs them.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR opserve)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "The opserve project <opserve@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
# Settings belong below /etc, wherever programs go.
set(CPACK_SET_DESTDIR ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
# What is packed has been built: packing must not build the tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

set(CPACK_COMPONENTS_ALL server command client)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(scripts "${PROJECT_SOURCE_DIR}/deploy/debian")
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME opserve-server)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION net)
set(CPACK_COMPONENT_SERVER_DESCRIPTION "The server: runs DirectML's element-wise operators and
activations for clients that call it by gRPC, on Direct3D 12 devices and on
processors, with the same bits.")
set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS "libvkd3d1, libvulkan1, opserve")
set(CPACK_DEBIAN_SERVER_PACKAGE_SUGGESTS "mesa-vulkan-drivers")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA
  "${scripts}/conffiles;${scripts}/postinst;${scripts}/prerm;${scripts}/postrm")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME opserve)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION net)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "The command: calls a server from a shell. It runs operators,
compares results of devices, shows devices and leases, and measures.")

set(CPACK_DEBIAN_CLIENT_PACKAGE_NAME libopserve-dev)
set(CPACK_DEBIAN_CLIENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_CLIENT_DESCRIPTION "The C++ client library: headers and static libraries for
programs that call a server.")
set(CPACK_DEBIAN_CLIENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_CLIENT_PACKAGE_DEPENDS "libabsl-dev, libgrpc++-dev, libprotobuf-dev, libssl-dev")

include(CPack)
