// File: tests/integration/examples/examples_fixture.h
//
// What examples in the documentation take for granted: a server, a client of it, and some tensors.

#ifndef OPSERVE_TESTS_INTEGRATION_EXAMPLES_EXAMPLES_FIXTURE_H_
#define OPSERVE_TESTS_INTEGRATION_EXAMPLES_EXAMPLES_FIXTURE_H_

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "opserve/client.h"
#include "opserve/ops.h"
#include "opserve/owned_tensor.h"
#include "opserve/stream.h"
#include "tests/integration/client_fixture.h"

namespace opserve::testing {

class ExamplesTest : public ClientFixture {
 protected:
  ExamplesTest() { Start(); }

  // A client as Connect returns it.
  absl::StatusOr<std::unique_ptr<Client>> Connected() const { return Client::Connect(address_); }

  OperatorCall RoundCall() const {
    return ops::Round(ViewOf(three_), RoundingMode::kHalvesToNearestEven);
  }

  // What came of a variable of an example.
  template <class T>
  static absl::Status StatusOf(const absl::StatusOr<T>& result) {
    return result.status();
  }
  template <class T>
  static absl::Status StatusOf(const T&) {
    return absl::OkStatus();
  }

  static void Use(const absl::StatusOr<Tensor>& result) { Expect(result.status()); }

  // Where there is no GPU, none can be leased or asked for; a call that was given up may be over.
  static void Expect(const absl::Status& status) {
    const bool needs_gpu = GetErrorReason(status) == "DEVICE_UNAVAILABLE";
    EXPECT_TRUE(status.ok() || needs_gpu || absl::IsCancelled(status)) << Describe(status);
  }

  const std::string address_ = options_.listen.front();
  const Floats three_ = {-1.5f, 0.5f, 2.5f};
  const Floats thousand_ = Floats(1000, 2.5f);
  // As examples call them.
  const Tensor expected = *Tensor::FromBytes({DataType::kFloat32, {3}, {}}, std::string(12, '\0'));
  const Tensor actual = expected;
  const Tensor device_result = expected;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_EXAMPLES_EXAMPLES_FIXTURE_H_
