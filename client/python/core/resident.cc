#include "client/python/core/resident.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/python/core/arrays.h"
#include "client/python/core/errors.h"
#include "client/python/core/forks.h"
#include "client/python/core/operands.h"
#include "client/python/core/waiting.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

void CheckSame(const TensorSpec& theirs, const TensorSpec& own, const char* name) {
  if (theirs.data_type == own.data_type && theirs.sizes == own.sizes) return;
  throw BadArguments(name, absl::StrCat("the array is ", ToString({theirs.data_type, theirs.sizes}),
                                        ", the tensor ", ToString(own)));
}

}  // namespace

ResidentTensor::ResidentTensor(std::shared_ptr<Client> client, TensorLease lease, TensorSpec spec,
                               bool is_single)
    : client_(std::move(client)),
      spec_(std::move(spec)),
      is_single_(is_single),
      device_(lease.device),
      owned_(SharedUnlessForked(
          std::make_unique<OwnedTensor>(*client_, std::move(lease), LeaseRenewal::kBackground))) {}

const TensorHandle& ResidentTensor::handle() const {
  ThrowIfForked();
  if (owned_ == nullptr) throw BadArguments("tensor", "it was deleted");
  return owned_->handle();
}

nb::object ResidentTensor::Read(nb::handle out) {
  if (out.is_none()) {
    const auto call = client_->StartReadTensor(handle());
    return AsArray(ValueOrThrow(WaitForResult(call)), is_single_);
  }
  const ResultTarget target = MakeTarget(out, {});
  CheckSame(target.spec, spec_, "out");
  ThrowUnlessOk(WaitForResult(client_->StartReadTensorInto(handle(), 0, target.bytes)));
  return nb::borrow(out);
}

void ResidentTensor::Write(nb::handle array) {
  ArrayMemory memory = TakeMemory(array, "array");
  if (!IsPacked(memory)) memory = CopyPacked(array, "array");
  CheckSame({memory.data_type, WireSizes(memory, "array")}, spec_, "array");
  const auto call = client_->StartWriteTensor(
      handle(), 0, {memory.data, *ByteSize({spec_.data_type, spec_.sizes})});
  ThrowUnlessOk(WaitForResult(call));
}

}  // namespace opserve::python
