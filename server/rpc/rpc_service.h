// File: server/rpc/rpc_service.h
//
// A gRPC service whose methods take and return bytes, on our own completion queues. What is no
// message at all can so be answered with details, and payloads need no copy.

#ifndef OPSERVE_SERVER_RPC_RPC_SERVICE_H_
#define OPSERVE_SERVER_RPC_RPC_SERVICE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/impl/rpc_service_method.h"
#include "grpcpp/impl/service_type.h"
#include "server/access/access_control.h"
#include "server/access/caller.h"
#include "server/access/role.h"
#include "server/admission/admission.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/rate_limiter.h"
#include "server/record/request_record.h"
#include "server/rpc/poller.h"

namespace opserve {

class StreamCall;
class StreamHandler;
class UnaryCall;

// What one method may take of the server, who may call it, and who hears of its calls.
//
// Every method has such limits. Once a caller may call a method, any message comes up to the limit
// of all; what these bound is the work and the memory from there on. A message of many tiny
// fields takes far more memory parsed than it did on the wire.
struct MethodLimits {
  // What callers must be allowed to do.
  Role role = Role::kAdmin;
  // Most bytes of a request, of each message where there are several. A larger one gets
  // REQUEST_TOO_LARGE before anything looks at it.
  uint64_t max_request_bytes = 0;
  // Counts the calls of the method: a unary one with the bytes of its request while it is worked on
  // and then with those of its answer until that has gone, a stream from its begin to its end, and
  // without bytes. nullptr: the method's function admits what it holds. Must outlive the calls.
  Admission* admission = nullptr;
  // Asked when a unary call has begun, for those whose functions admit what they hold: where there
  // is no room, it is refused without its message. nullptr: nobody is asked. Must outlive the
  // calls.
  Admission* room = nullptr;
  // Gets each unary call when it has ended, and each stream that ends with an error of the server;
  // nullptr: nobody wants to know. Must outlive the calls.
  RequestObserver* observer = nullptr;
};

// Works on a call of a unary method in its poller's thread, which it must not block, and finishes
// the call there or, later, in any thread. What it throws before it has finished the call, or given
// it to another thread, becomes the error of the call. Safe to use from any thread.
using UnaryHandler = std::function<void(UnaryCall& call)>;

// Makes what works on a call of a streaming method. Safe to use from any thread.
using StreamHandlerFactory = std::function<std::unique_ptr<StreamHandler>(StreamCall& call)>;

// Methods are added, then it is registered with a server's builder, then calls are accepted.
// Methods of the contract that were not added are answered with UNIMPLEMENTED. Must outlive the
// server.
class RpcService final : public grpc::Service {
 public:
  // `name`: with its package, such as "opserve.v1.OperatorService". `logger` gets a line for calls
  // that fail by an exception; it may be nullptr, and must outlive the service.
  explicit RpcService(std::string name, Logger* logger = nullptr)
      : name_(std::move(name)), logger_(logger) {}

  const std::string& name() const { return name_; }

  // Tells from now on who calls; until then everybody is nobody in particular and may do all.
  // `access` must outlive the calls. `has_certificates`: whether clients are asked for theirs.
  // Before calls are accepted.
  void set_access(const AccessControl* access, bool has_certificates) {
    access_ = access;
    has_certificates_ = has_certificates;
  }

  // `method`: its name alone, such as "Execute".
  void AddUnary(const std::string& method, const MethodLimits& limits, UnaryHandler handler);
  // The same for methods that stream to, from, or both.
  void AddStream(const std::string& method, const MethodLimits& limits,
                 StreamHandlerFactory factory);

  // Accepts calls on the poller's queue from now on, until the server shuts down.
  void Accept(Poller& poller);

 private:
  friend class StreamCall;
  friend class UnaryCall;

  // A method's place in the service, and one of the two that work on its calls.
  struct Method {
    RpcService& service;
    std::string path;
    int index;
    MethodLimits limits;
    UnaryHandler handle;
    StreamHandlerFactory stream;

    // Its name alone, a part of `path`.
    absl::string_view name() const {
      return absl::string_view(path).substr(service.name_.size() + 2);
    }

    // Who calls, once he may call the method. The one place where callers are turned away for who
    // they are, before anything looks at a message.
    absl::StatusOr<Caller> Authorize(const grpc::ServerContext& context) const;
    // OK where a message of the caller may be admitted; else the error, which is logged.
    absl::Status CheckRoom(const Caller& caller) const;
    // OK for a message of a size that the method takes, or REQUEST_TOO_LARGE. Else what came in the
    // place of one that the edge refused: the same, or TOO_MANY_BYTES.
    absl::Status CheckMessage(const grpc::ByteBuffer& message) const;
    // The error for the exception that is being handled, which is logged. Only in a catch block;
    // does not throw.
    absl::Status FailureOfException() const noexcept;
  };

  Method& Add(const std::string& method, const MethodLimits& limits,
              grpc::internal::RpcMethod::RpcType type);

  const std::string name_;
  Logger* const logger_;
  const AccessControl* access_ = nullptr;
  bool has_certificates_ = false;
  // Holds back log lines about callers who were turned away.
  RateLimiter denials_{SteadyClock(), std::chrono::seconds(1)};
  // Holds back log lines about callers for whose messages there was no room.
  RateLimiter refusals_{SteadyClock(), std::chrono::seconds(1)};
  // Holds back log lines about failed calls.
  RateLimiter failures_{SteadyClock(), std::chrono::seconds(1)};
  std::list<Method> methods_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_RPC_SERVICE_H_
