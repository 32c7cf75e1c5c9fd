// File: tests/integration/unread_fixture.h
//
// A server with two scripted GPUs, and tensors on them that are large enough for results to stay.
// What the GPUs do not hand over they overwrite with garbage.

#ifndef OPSERVE_TESTS_INTEGRATION_UNREAD_FIXTURE_H_
#define OPSERVE_TESTS_INTEGRATION_UNREAD_FIXTURE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/tensors/result_origin.h"
#include "tests/integration/resident_fixture.h"
#include "tests/integration/wait_until.h"
#include "tests/testing/null_device.h"

namespace opserve::testing {

class UnreadResultsTest : public ResidentTensorTest {
 protected:
  // Large enough for results to stay.
  static constexpr uint32_t kCount = 5000;
  static constexpr uint64_t kBytes = kCount * sizeof(float);
  static_assert(kBytes >= kLeastUnreadBytes);

  // With two GPUs, which do not come back within a test.
  void StartWithGpus() {
    options_.pool.health.min_backoff = std::chrono::hours(1);
    options_.pool.health.max_backoff = std::chrono::hours(1);
    StartAsSet();
  }
  void StartAsSet() {
    std::vector<DeviceSource> sources = {gpus_[0]->source(), gpus_[1]->source()};
    Start({.find_gpus = [sources] { return sources; }});
    const auto are_ready = [this] {
      return InfoOf(0).state() == v1::DEVICE_STATE_READY &&
             InfoOf(1).state() == v1::DEVICE_STATE_READY;
    };
    ASSERT_TRUE(WaitUntil(are_ready));
  }
  NullScript& script(int gpu = 0) { return *gpus_[gpu]->script(); }
  v1::DeviceInfo InfoOf(int gpu) { return Info().devices(gpu + 1); }
  v1::DeviceCounters Counters(int gpu = 0) { return InfoOf(gpu).counters(); }
  std::string cpu_name() { return Info().devices(0).name(); }

  std::string CreateOn(const std::string& device, const Floats& values,
                       const std::string& client = "me") {
    v1::CreateTensorRequest request = NewFloats(values);
    request.set_device(device);
    return Create(request, client).tensor();
  }
  // Tensors full of one value.
  std::string Full(float value, const std::string& device = "null/0") {
    return CreateOn(device, Floats(kCount, value));
  }

  static v1::ExecuteRequest AddRequest(const std::string& a, const std::string& b,
                                       const std::string& sum) {
    v1::ExecuteRequest request;
    request.set_operator_("ELEMENT_WISE_ADD");
    for (const std::string& input : {a, b}) {
      request.add_inputs();
      *request.add_input_places() = InTensor(input);
    }
    *request.mutable_output_place() = InTensor(sum);
    return request;
  }
  // sum = a + b. The device that computed it.
  std::string Add(const std::string& a, const std::string& b, const std::string& sum,
                  v1::DevicePreference device = v1::DEVICE_PREFERENCE_UNSPECIFIED,
                  const std::string& client = "me") {
    v1::ExecuteRequest request = AddRequest(a, b, sum);
    request.set_device(device);
    const Answer answer = Execute(request, client);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    return answer.response.execution().device();
  }

  // Whether all numbers of the tensor are `value`.
  bool Holds(const std::string& tensor, float value) {
    return Values(tensor) == Floats(kCount, value);
  }

  const std::unique_ptr<NullDeviceFactory> gpus_[2] = {
      std::make_unique<NullDeviceFactory>(NullProfile("null/0", /*is_software=*/true)),
      std::make_unique<NullDeviceFactory>(NullProfile("null/1", /*is_software=*/true))};
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_UNREAD_FIXTURE_H_
