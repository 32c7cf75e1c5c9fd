#include "client/python/core/pending_call.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "client/python/core/arrays.h"
#include "client/python/core/errors.h"
#include "client/python/core/waiting.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

int MakeEvent() {
  const int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return descriptor;
}

}  // namespace

nb::object PendingCall::Result(absl::Duration limit) {
  GiveUpNow();
  if (result_.is_valid()) return result_;
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
  return std::visit([](const auto& call) { return call.WaitFor(absl::ZeroDuration()); }, handle_);
}

void PendingCall::Cancel() const {
  const nb::gil_scoped_release released;
  std::visit([](const auto& call) { call.Cancel(); }, handle_);
}

ExecutionInfo PendingCall::Info() const {
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

CompletedCalls::CompletedCalls() : descriptor_(MakeEvent()) {}

CompletedCalls::~CompletedCalls() { close(descriptor_); }

void CompletedCalls::Add(Hold token, Holds holds) {
  {
    const absl::MutexLock lock(&mutex_);
    if (!is_closed_) {
      const bool was_empty = tokens_.empty();
      tokens_.push_back(std::move(token));
      for (Hold& hold : holds) holds_.push_back(std::move(hold));
      // One is enough until Take: it cannot fail while the counter is that small.
      if (was_empty) eventfd_write(descriptor_, 1);
      return;
    }
  }
  holds.push_back(std::move(token));
  GiveUpLater(std::move(holds));
}

nb::list CompletedCalls::Take() {
  GiveUpNow();
  Holds tokens;
  Holds holds;
  {
    const absl::MutexLock lock(&mutex_);
    eventfd_t count;
    eventfd_read(descriptor_, &count);
    tokens.swap(tokens_);
    holds.swap(holds_);
  }
  nb::list list;
  for (const Hold& token : tokens) list.append(nb::handle(static_cast<PyObject*>(token.get())));
  return list;
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
