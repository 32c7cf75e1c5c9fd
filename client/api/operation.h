// File: client/api/operation.h
//
// A call as the messages that it takes: what to send first, and what follows from each answer.
// Whoever runs it decides how to wait: see ClientImpl::Run and ClientImpl::Start.

#ifndef OPSERVE_CLIENT_API_OPERATION_H_
#define OPSERVE_CLIENT_API_OPERATION_H_

#include <cstddef>
#include <functional>
#include <variant>

#include "absl/status/status.h"
#include "client/rpc/retry.h"
#include "client/wire/message.h"
#include "opserve/call_handle.h"

namespace opserve::client_internal {

// What came of one message.
struct Answer {
  absl::Status status;
  ResponseMessage message = {};  // where the status is OK
  // How often it was sent; who reads the answer adds how it was run.
  ExecutionInfo info = {};
  // Whether the policy has another attempt.
  bool has_attempts_left = false;
  // The number of the host that answered; see Transport.
  size_t host = 0;
  // Whether the server would take the inputs of such a call through a ring.
  bool takes_ring = false;
};

template <class T>
struct Step;

// What follows: a further message, or the end of the call.
template <class T>
using Next = std::variant<Step<T>, CallResult<T>>;

// A message to send.
template <class T>
struct Step {
  const char* method;  // as in Transport
  OutgoingMessage message;
  std::function<Next<T>(Answer& answer)> then;
  // Whether the server may run it again where nobody knows whether it has run, if it may run any
  // message of the call twice.
  bool may_run_twice = true;
  // How often it was sent in another form, which counts as attempts of it.
  int attempts_before = 0;
};

// A call that ends with a T. Its messages share one deadline; each has all its attempts.
template <class T>
struct Operation {
  RetryState retries;
  Next<T> next;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_API_OPERATION_H_
