#include "client/python/core/pending_call.h"

#include <utility>

#include "client/python/core/arrays.h"
#include "client/python/core/errors.h"
#include "client/python/core/forks.h"
#include "client/python/core/waiting.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

}  // namespace

nb::object PendingCall::Result(absl::Duration limit) {
  if (result_.is_valid()) return result_;
  ThrowIfForked();
  GiveUpNow();
  const bool is_over =
      std::visit([limit](const auto& call) { return WaitFor(call, limit); }, handle_);
  if (!is_over) {
    PyErr_SetString(PyExc_TimeoutError, "the call is not over yet");
    throw nb::python_error();
  }
  // Another thread may have waited, too.
  if (result_.is_valid()) return result_;
  result_ = std::visit([this](const auto& call) { return Take(call); }, handle_);
  return result_;
}

bool PendingCall::IsDone() const {
  ThrowIfForked();
  return std::visit([](const auto& call) { return call.WaitFor(absl::ZeroDuration()); }, handle_);
}

void PendingCall::Cancel() const {
  ThrowIfForked();
  const Released released;
  std::visit([](const auto& call) { call.Cancel(); }, handle_);
}

ExecutionInfo PendingCall::Info() const {
  ThrowIfForked();
  std::visit([](const auto& call) { WaitFor(call, absl::InfiniteDuration()); }, handle_);
  return std::visit([](const auto& call) { return call.info(); }, handle_);
}

nb::object PendingCall::Take(const opserve::Call<Tensor>& call) {
  return AsArray(ValueOrThrow(call.Wait()), forms_[0].is_single);
}

nb::object PendingCall::Take(const opserve::Call<TensorSpec>& call) {
  ThrowUnlessOk(call.Wait().status());
  return forms_[0].out;
}

nb::object PendingCall::Take(const opserve::Call<std::vector<SequenceResult>>& call) {
  const std::vector<SequenceResult> results = ValueOrThrow(call.Wait());
  nb::list list;
  for (size_t i = 0; i < results.size(); ++i) {
    list.append(results[i].tensor ? AsArray(*results[i].tensor, forms_[i].is_single)
                                  : forms_[i].out);
  }
  return list;
}

void CompletedCalls::Add(Hold token, Holds holds) {
  {
    const absl::MutexLock lock(&mutex_);
    if (!is_closed_) {
      const bool was_empty = tokens_.empty();
      tokens_.push_back(std::move(token));
      for (Hold& hold : holds) holds_.push_back(std::move(hold));
      if (was_empty) signal_.Set();
      return;
    }
  }
  holds.push_back(std::move(token));
  GiveUpLater(std::move(holds));
}

void CompletedCalls::Take(nb::list ended) {
  GiveUpNow();
  Holds tokens;
  Holds holds;
  {
    const absl::MutexLock lock(&mutex_);
    signal_.Clear();
    has_told_ = false;
    tokens.swap(tokens_);
    holds.swap(holds_);
  }
  for (const Hold& token : tokens) ended.append(nb::handle(static_cast<PyObject*>(token.get())));
}

bool CompletedCalls::WaitForMore() {
  const absl::MutexLock lock(&mutex_);
  const auto has_more = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_closed_ || (!tokens_.empty() && !has_told_);
  };
  mutex_.Await(absl::Condition(&has_more));
  has_told_ = true;
  return !is_closed_;
}

void CompletedCalls::Close() {
  Holds tokens;
  Holds holds;
  {
    const absl::MutexLock lock(&mutex_);
    is_closed_ = true;
    tokens.swap(tokens_);
    holds.swap(holds_);
  }
}

}  // namespace opserve::python
