#include "server/rpc/rpc_service.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/access/known_caller.h"
#include "server/edge/connection_peer.h"
#include "server/errors/errors.h"
#include "server/rpc/call_context.h"
#include "server/rpc/refused_message.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/unary_call.h"

namespace opserve {

using grpc::internal::RpcMethod;

absl::StatusOr<Caller> RpcService::Method::Authorize(const grpc::ServerContext& context) const {
  const std::string peer = context.peer();
  const CallProof proof = ProofOf(context, peer, service.has_certificates_);
  if (service.access_ == nullptr) return Caller(proof.peer.Host(), "", FullGrant());
  // Clients show the same token with each call of a connection, so it is looked into once.
  const bool may_be_known = proof.has_authorization && !proof.has_certificate;
  std::shared_ptr<const KnownCaller> known;
  if (may_be_known) known = std::static_pointer_cast<const KnownCaller>(NoteOf(peer));
  const KnownCaller* const last = known.get();
  absl::StatusOr<Caller> caller =
      may_be_known ? service.access_->Identify(proof, known) : service.access_->Identify(proof);
  absl::Status status = caller.ok() ? caller->Check(limits.role) : caller.status();
  if (status.ok()) {
    const bool is_last = last != nullptr && known.get() == last;
    // All that it reads is for this one, whoever else has the address.
    if (!is_last && caller->identity() != proof.peer.Host()) {
      TakeTurnsAs(peer, caller->identity(), std::move(known));
    }
    return caller;
  }
  if (service.logger_ == nullptr) return status;
  if (const auto held_back = service.denials_.Pass()) {
    service.logger_->Log(
        LogLevel::kWarn, "call denied",
        {{"method", path},
         {"client", caller.ok() ? std::string(caller->identity()) : proof.peer.Host()},
         {"code", absl::StatusCodeToString(status.code())},
         {"message", status.message()},
         {"not_logged", *held_back}});
  }
  return status;
}

absl::Status RpcService::Method::CheckRoom(const Caller& caller) const {
  if (limits.room == nullptr) return absl::OkStatus();
  absl::Status status = limits.room->CheckRoom(caller.identity(), caller.grant().share);
  if (status.ok() || service.logger_ == nullptr || !service.logger_->enabled(LogLevel::kInfo)) {
    return status;
  }
  if (const auto held_back = service.refusals_.Pass()) {
    service.logger_->Log(LogLevel::kInfo, "call refused",
                         {{"method", path},
                          {"client", std::string(caller.identity())},
                          {"code", absl::StatusCodeToString(status.code())},
                          {"message", status.message()},
                          {"not_logged", *held_back}});
  }
  return status;
}

absl::Status RpcService::Method::CheckMessage(const grpc::ByteBuffer& message) const {
  const uint64_t bytes = message.Length();
  if (auto note = bytes == kMessageNoteBytes ? NoteIn(message) : std::nullopt) {
    // Of the limits on a message the one for all methods was what the edge knew.
    if (note->others == 0) note->limit = std::min(note->limit, limits.max_request_bytes);
    return RefusedMessageError(path, *note);
  }
  if (bytes <= limits.max_request_bytes) return absl::OkStatus();
  return RequestTooLargeError(path, bytes, limits.max_request_bytes);
}

absl::Status RpcService::Method::FailureOfException() const noexcept {
  try {
    absl::Status status = ErrorOfException();
    if (service.logger_ == nullptr) return status;
    if (const auto held_back = service.failures_.Pass()) {
      service.logger_->Log(LogLevel::kError, "call failed",
                           {{"method", path},
                            {"code", absl::StatusCodeToString(status.code())},
                            {"message", status.message()},
                            {"not_logged", *held_back}});
    }
    return status;
  } catch (...) {
    // There was no memory even for the error. This one needs none.
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
}

RpcService::Method& RpcService::Add(const std::string& method, const MethodLimits& limits,
                                    RpcMethod::RpcType type) {
  const int index = static_cast<int>(methods_.size());
  Method& added = methods_.emplace_back(
      Method{*this, absl::StrCat("/", name_, "/", method), index, limits, nullptr, nullptr});
  // gRPC keeps the pointer to the name.
  AddMethod(new grpc::internal::RpcServiceMethod(added.path.c_str(), type, nullptr));
  MarkMethodRaw(index);
  return added;
}

void RpcService::AddUnary(const std::string& method, const MethodLimits& limits,
                          UnaryHandler handler) {
  // For unary methods gRPC would receive the message before it tells of the call. On the wire there
  // is no difference.
  Add(method, limits, RpcMethod::CLIENT_STREAMING).handle = std::move(handler);
}

void RpcService::AddStream(const std::string& method, const MethodLimits& limits,
                           StreamHandlerFactory factory) {
  // What comes and goes on the wire is the same for all streams.
  Add(method, limits, RpcMethod::BIDI_STREAMING).stream = std::move(factory);
}

void RpcService::Accept(Poller& poller) {
  for (Method& method : methods_) {
    if (method.handle != nullptr) {
      UnaryCall::Expect(method, poller);
    } else {
      StreamCall::Expect(method, poller);
    }
  }
}

}  // namespace opserve
