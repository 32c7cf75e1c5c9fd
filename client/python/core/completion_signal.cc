#include "client/python/core/completion_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace opserve::python {
namespace {

int MakeEvent() {
  const int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return descriptor;
}

}  // namespace

CompletionSignal::CompletionSignal() : descriptor_(MakeEvent()) {}

CompletionSignal::~CompletionSignal() { close(descriptor_); }

int CompletionSignal::descriptor() const { return descriptor_; }

// It cannot fail while the counter is that small.
void CompletionSignal::Set() const { eventfd_write(descriptor_, 1); }

void CompletionSignal::Clear() const {
  eventfd_t count;
  eventfd_read(descriptor_, &count);
}

}  // namespace opserve::python
