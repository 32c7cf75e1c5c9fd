// File: tests/integration/network_address.h
//
// An address of this machine that is not loopback, from which it can call itself as others would.

#ifndef OPSERVE_TESTS_INTEGRATION_NETWORK_ADDRESS_H_
#define OPSERVE_TESTS_INTEGRATION_NETWORK_ADDRESS_H_

#include <string>

namespace opserve::testing {

// An IPv4 address; empty where the machine has none but loopback.
std::string NetworkAddress();

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_NETWORK_ADDRESS_H_
