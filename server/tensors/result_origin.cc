#include "server/tensors/result_origin.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/tensor_bytes.h"
#include "server/wire/wire.h"

namespace opserve {

std::optional<int> ResultSource::steps() const {
  int steps = 1;
  for (const std::shared_ptr<TensorContent>& input : inputs) {
    const std::shared_ptr<const ContentOrigin> origin = input->origin();
    if (origin == nullptr) continue;
    const std::optional<int> of_input = origin->steps();
    if (!of_input) return std::nullopt;
    steps += *of_input;
  }
  return steps;
}

ResultOrigin::ResultOrigin(DevicePool& pool, HostBufferPool& buffers, absl::string_view device,
                           uint64_t lease, ResultSource source)
    : pool_(pool),
      buffers_(buffers),
      device_(device),
      lease_(lease),
      source_(std::move(source)),
      steps_(source_.steps().value()) {}

bool ResultOrigin::Read(ContentId content, std::span<std::byte> to) const {
  return pool_.Read(device_, lease_, content, to).ok();
}

// Inputs that are unread stay so: they may never be asked for.
void ResultOrigin::Compute(std::byte* to) const {
  std::vector<HostBuffer> computed;
  std::vector<TensorBytes> inputs;
  for (const std::shared_ptr<TensorContent>& input : source_.inputs) {
    if (const std::shared_ptr<const ContentOrigin> origin = input->origin()) {
      const HostBuffer& buffer = computed.emplace_back(buffers_.Take(input->bytes()));
      origin->Compute(buffer.data());
      inputs.emplace_back(buffer.data());
    } else {
      inputs.emplace_back(input->data());
    }
  }
  const DeviceCall call = {.invocation = source_.invocation.get(),
                           .inputs = InputsOf(inputs, *source_.invocation),
                           .output = to};
  const absl::Status status = pool_.Recompute(device_, call);
  // The processor has no errors of its own, and nobody could go on without the bytes.
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

}  // namespace opserve
