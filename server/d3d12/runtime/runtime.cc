#include "server/d3d12/runtime/runtime.h"

#include <utility>

#include "server/d3d12/runtime/runtime_impl.h"

namespace opserve::d3d12 {

Runtime::Runtime(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Runtime::~Runtime() = default;

const char* Runtime::name() const { return impl_->name; }

const std::vector<AdapterInfo>& Runtime::adapters() const { return impl_->adapters; }

const std::vector<absl::Status>& Runtime::left_out() const { return impl_->left_out; }

}  // namespace opserve::d3d12
