#include "server/tensors/tensor_service.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/validate.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/errors/errors.h"
#include "server/errors/host_ids.h"
#include "server/rpc/message_bytes.h"
#include "server/tensors/result_origin.h"
#include "server/tensors/tensor_home.h"
#include "server/wire/wire.h"
#include "server/wire/wire_message.h"

namespace opserve {
namespace {

using std::chrono::seconds;

// What is done at once takes less time than it would to wake a thread.
constexpr uint64_t kMostInlineBytes = uint64_t{64} << 10;
// How often tensors whose lease has ended are looked for where nothing else happens.
constexpr seconds kSweepPeriod{1};

// How often the thread that waits for devices looks for what it has to do, beside being told.
constexpr seconds kReadsPeriod{60};

// A request may name as many tensors as a client may have, and as many as this in any case, so that
// a client that knows more of them than the server does hears so.
constexpr size_t kLeastMostHandles = 1024;
// Handles are shorter than this, with what protobuf needs for each.
constexpr uint64_t kMostHandleFieldBytes = 64;

// A call whose request may have a payload.
template <class Request>
struct TensorCall final : QueuedCall {
  using QueuedCall::QueuedCall;

  // Reads the request; admits what is held while it is under way. What is refused holds nothing
  // while its error waits to be taken.
  absl::Status Accept(Admission& admission) {
    absl::Status status = received.Read(call.request(), request);
    if (status.ok()) status = Admit(admission);
    if (!status.ok()) {
      received = {};
      request.Clear();
    }
    return status;
  }
  absl::Status Admit(Admission& admission) {
    uint64_t bytes = HeldByHeader(request, received.header_bytes());
    for (const PayloadPlace& payload : received.places()) bytes += payload.bytes;
    auto admitted = admission.Admit(call.caller().identity(), bytes, call.caller().grant().share);
    if (!admitted.ok()) return admitted.status();
    permit = *std::move(admitted);
    return absl::OkStatus();
  }

  bool has_payload() const { return !received.places().empty(); }
  // Where there are several payloads the last one counts, as everywhere in protobuf.
  uint64_t payload_bytes() const { return has_payload() ? received.places().back().bytes : 0; }
  void CopyPayload(std::byte* target) const {
    Gather(received.slices(), received.places().back(), target);
  }

  Request request;
  ReceivedMessage received;
  Admission::Permit permit;
};

// The tensor that a request asks for; with violations it is of no use.
NewTensor NewTensorOf(const TensorCall<v1::CreateTensorRequest>& state,
                      const ValidationLimits& limits, std::vector<Violation>& violations) {
  const v1::CreateTensorRequest& request = state.request;
  NewTensor tensor;
  tensor.label = request.label();
  tensor.is_volatile = request.is_volatile();
  tensor.ttl = seconds(request.ttl_s());
  tensor.digest = Sha256DigestFrom(request.sha256());
  if (!tensor.digest && !request.sha256().empty()) {
    violations.push_back({"sha256", absl::StrCat("The hash has ", request.sha256().size(),
                                                 " bytes instead of 32.")});
  }
  TensorValidation validation = ValidateTensor(ViewOf(request.desc()), "desc", limits);
  for (Violation& violation : validation.violations) violations.push_back(std::move(violation));
  if (!validation.desc) return tensor;
  tensor.desc = *validation.desc;
  if (!state.has_payload()) return tensor;
  tensor.fill = [&state](std::byte* target) { state.CopyPayload(target); };
  const uint64_t needed = ExactSizeInBytes(tensor.desc).value_or(0);
  if (state.payload_bytes() != needed) {
    violations.push_back(
        {"payload", absl::StrCat("The payload has ", state.payload_bytes(),
                                 " bytes, but the descriptor needs ", needed, ".")});
  }
  return tensor;
}

// OK if `bytes` bytes from `offset` on are in the tensor.
absl::Status CheckRange(uint64_t offset, uint64_t bytes, const ResidentTensor& tensor,
                        absl::string_view length_field) {
  if (offset <= tensor.bytes() && bytes <= tensor.bytes() - offset) return absl::OkStatus();
  return MakeViolationError({std::string(offset > tensor.bytes() ? "offset" : length_field),
                             absl::StrCat("The range of ", bytes, " bytes at ", offset,
                                          " exceeds the tensor's ", tensor.bytes(), " bytes.")});
}

// Answers with bytes of a tensor. Takes as long as filling the tensor with zeros, or fetching it.
void Send(UnaryCall& call, ResidentTensor& tensor, uint64_t offset, uint64_t bytes) {
  v1::ReadTensorResponse header;
  WriteDesc(tensor.desc(), *header.mutable_desc());
  OutgoingPayload payload;
  if (bytes <= kMostInlineBytes) {
    // A share of the content would keep all of it as it is, for as long as the client likes.
    payload = OutgoingPayload::From(tensor.Copy(offset, bytes), bytes);
  } else {
    const TensorSnapshot snapshot = tensor.Snapshot();
    payload = {snapshot.bytes().Fetched().data() + offset, bytes, snapshot.share};
  }
  call.Finish(ComposeMessage(header, {&payload, 1}));
}

template <class Request>
std::vector<absl::string_view> HandlesOf(const Request& request) {
  std::vector<absl::string_view> handles;
  handles.reserve(request.tensors_size());
  for (const std::string& handle : request.tensors()) handles.emplace_back(handle);
  return handles;
}

}  // namespace

TensorService::TensorService(const TensorServiceOptions& options, const Clock& clock,
                             Admission& admission, const DevicePool& pool, HostBufferPool& buffers)
    : options_(options),
      clock_(clock),
      admission_(admission),
      pool_(pool),
      store_(options.limits, clock, buffers),
      reads_("tensor-reads", kReadsPeriod, [] {}),
      thread_("tensors", kSweepPeriod, [this] { store_.Sweep(); }) {}

void TensorService::AddTo(RpcService& rpc, const MethodLimits& message,
                          const MethodLimits& control) {
  // Reading is admitted with the bytes that are read, once those are known.
  const MethodLimits read = {.role = control.role,
                             .max_request_bytes = control.max_request_bytes,
                             .observer = control.observer};
  MethodLimits handles = control;
  handles.max_request_bytes += MostHandles() * kMostHandleFieldBytes;
  rpc.AddUnary("CreateTensor", message, [this](UnaryCall& call) { Create(call); });
  rpc.AddUnary("WriteTensor", message, [this](UnaryCall& call) { Write(call); });
  rpc.AddUnary("ReadTensor", read, [this](UnaryCall& call) { Read(call); });
  rpc.AddUnary("RenewTensors", handles, [this](UnaryCall& call) { Renew(call); });
  rpc.AddUnary("DeleteTensors", handles, [this](UnaryCall& call) { Delete(call); });
  rpc.AddUnary("ListTensors", control, [this](UnaryCall& call) { List(call); });
}

size_t TensorService::MostHandles() const {
  return std::max(kLeastMostHandles, options_.limits.max_tensors_per_client);
}

absl::Status TensorService::CheckHandles(int count) const {
  if (static_cast<size_t>(count) <= MostHandles()) return absl::OkStatus();
  return MakeViolationError(
      {"tensors", absl::StrCat("The request names ", count, " tensors; at most ", MostHandles(),
                               " are allowed.")});
}

void TensorService::Create(UnaryCall& call) {
  auto& state = call.Keep<TensorCall<v1::CreateTensorRequest>>();
  if (absl::Status status = state.Accept(admission_); !status.ok()) return call.Finish(status);
  std::vector<Violation> violations;
  NewTensor tensor = NewTensorOf(state, options_.validation, violations);
  const auto home = FindHome(state.request, pool_, store_, violations);
  if (tensor.is_volatile && home.ok() && home->empty()) {
    violations.push_back({"is_volatile",
                          "A volatile tensor is placed on a GPU: ask for placement GPU, or name "
                          "one as device."});
  }
  if (!violations.empty()) return call.Finish(MakeViolationError(violations, ""));
  if (!home.ok()) return call.Finish(home.status());
  tensor.device = *home;
  Run(state, state.payload_bytes(), [this, &state, tensor = std::move(tensor)] {
    const Caller& caller = state.call.caller();
    const TensorHolder holder = {caller.identity(), caller.grant().max_resident_bytes,
                                 caller.grant().max_resident_tensors};
    TryTwice(state, [this, &state, tensor, holder] {
      const auto created = store_.Create(state.client, tensor, holder);
      if (!created.ok()) return created.status();
      v1::CreateTensorResponse answer;
      answer.set_tensor(created->handle);
      answer.set_has_content(created->has_content);
      answer.set_ttl_s(static_cast<uint32_t>(created->ttl.count()));
      answer.set_device(std::string(tensor.device));
      state.call.Finish(absl::OkStatus(), answer);
      return absl::OkStatus();
    });
  });
}

void TensorService::Write(UnaryCall& call) {
  auto& state = call.Keep<TensorCall<v1::WriteTensorRequest>>();
  if (absl::Status status = state.Accept(admission_); !status.ok()) return call.Finish(status);
  const v1::WriteTensorRequest& request = state.request;
  const auto tensor = store_.Find(state.client, request.tensor());
  if (!tensor.ok()) return call.Finish(tensor.status());
  absl::Status status = CheckRange(request.offset(), state.payload_bytes(), **tensor, "payload");
  if (!status.ok()) return call.Finish(status);
  // The first write to a tensor touches all of it.
  RunOn(**tensor, state, [this, &state] {
    TryTwice(state, [this, &state] {
      absl::Status written =
          store_.Write(state.client, state.request.tensor(), state.request.offset(),
                       state.payload_bytes(), [&state](std::byte* target) {
                         if (state.has_payload()) state.CopyPayload(target);
                       });
      if (written.ok()) state.call.Finish(written, v1::WriteTensorResponse());
      return written;
    });
  });
}

void TensorService::Read(UnaryCall& call) {
  auto& state = call.Keep<TensorCall<v1::ReadTensorRequest>>();
  absl::Status status = ParseMessage(call.request(), state.request);
  if (!status.ok()) return call.Finish(status);
  const auto found = store_.Find(state.client, state.request.tensor());
  if (!found.ok()) return call.Finish(found.status());
  const std::shared_ptr<ResidentTensor>& tensor = *found;
  const uint64_t offset = state.request.offset();
  uint64_t bytes = state.request.bytes();
  if (bytes == 0 && offset < tensor->bytes()) bytes = tensor->bytes() - offset;
  status = CheckRange(offset, bytes, *tensor, "bytes");
  if (!status.ok()) return call.Finish(status);
  if (bytes + kMaxResponseHeaderBytes > options_.max_message_bytes) {
    return call.Finish(MakeError(
        ErrorReason::RESPONSE_TOO_LARGE,
        absl::StrCat("The range has ", bytes, " bytes, too many for a message of at most ",
                     options_.max_message_bytes, "; read it in pieces."),
        {{"limit", absl::StrCat(options_.max_message_bytes)}}));
  }
  auto admitted = admission_.Admit(call.caller().identity(), bytes, call.caller().grant().share);
  if (!admitted.ok()) return call.Finish(admitted.status());
  state.permit = *std::move(admitted);
  RunOn(*tensor, state,
        [&state, tensor, offset, bytes] { Send(state.call, *tensor, offset, bytes); });
}

void TensorService::Renew(UnaryCall& call) {
  v1::RenewTensorsRequest request;
  if (absl::Status status = ParseMessage(call.request(), request); !status.ok()) {
    return call.Finish(status);
  }
  if (absl::Status status = CheckHandles(request.tensors_size()); !status.ok()) {
    return call.Finish(status);
  }
  const std::string& client = call.caller().client();
  const std::vector<absl::string_view> handles = HandlesOf(request);
  const auto granted = store_.Renew(client, handles, seconds(request.ttl_s()));
  if (!granted.ok()) return call.Finish(granted.status());
  v1::RenewTensorsResponse answer;
  answer.set_ttl_s(static_cast<uint32_t>(granted->count()));
  call.Finish(SerializeMessage(answer));
}

void TensorService::Delete(UnaryCall& call) {
  v1::DeleteTensorsRequest request;
  if (absl::Status status = ParseMessage(call.request(), request); !status.ok()) {
    return call.Finish(status);
  }
  if (absl::Status status = CheckHandles(request.tensors_size()); !status.ok()) {
    return call.Finish(status);
  }
  const std::string& client = call.caller().client();
  const std::vector<absl::string_view> handles = HandlesOf(request);
  for (const absl::string_view handle : handles) {
    const absl::Status status = NotFoundHere(handle, store_.limits().host, absl::OkStatus());
    if (!status.ok()) return call.Finish(status);
  }
  v1::DeleteTensorsResponse answer;
  answer.set_deleted(static_cast<uint32_t>(store_.Delete(client, handles)));
  call.Finish(SerializeMessage(answer));
}

void TensorService::List(UnaryCall& call) {
  v1::ListTensorsRequest request;
  if (absl::Status status = ParseMessage(call.request(), request); !status.ok()) {
    return call.Finish(status);
  }
  const Caller& caller = call.caller();
  const TensorList list = store_.List(caller.client());
  v1::ListTensorsResponse answer;
  for (const ListedTensor& tensor : list.tensors) {
    v1::ResidentTensorInfo& info = *answer.add_tensors();
    info.set_tensor(tensor.handle);
    WriteDesc(tensor.desc, *info.mutable_desc());
    info.set_bytes(tensor.bytes);
    info.set_label(tensor.label);
    info.set_device(std::string(tensor.device));
    info.set_is_volatile(tensor.is_volatile);
    info.set_ttl_s(static_cast<uint32_t>(std::chrono::ceil<seconds>(tensor.left).count()));
  }
  // The limit of a policy is one for all names that the identity gives itself.
  const std::optional<uint64_t> limit = caller.grant().max_resident_bytes;
  answer.set_bytes(limit ? store_.BytesOf(caller.identity()) : list.bytes);
  answer.set_max_bytes(limit.value_or(store_.limits().max_bytes_per_client));
  call.Finish(SerializeMessage(answer));
}

void TensorService::Run(QueuedCall& state, uint64_t bytes, std::function<void()> task) {
  if (bytes <= kMostInlineBytes) {
    task();
  } else {
    state.Queue(thread_, clock_, bytes, std::move(task));
  }
}

void TensorService::RunOn(const ResidentTensor& tensor, QueuedCall& state,
                          std::function<void()> task) {
  if (tensor.device().empty() || tensor.bytes() < kLeastUnreadBytes) {
    Run(state, tensor.bytes(), std::move(task));
  } else {
    state.Queue(reads_, clock_, tensor.bytes(), std::move(task));
  }
}

void TensorService::TryTwice(QueuedCall& state, const std::function<absl::Status()>& attempt) {
  const absl::Status status = attempt();
  if (status.ok()) return;
  auto unread = store_.Unread(state.client);
  if (!absl::IsResourceExhausted(status) || unread.empty()) return state.call.Finish(status);
  uint64_t bytes = 0;
  for (const auto& content : unread) bytes += content->bytes();
  reads_.Start(state.call.caller().identity(), bytes,
               [&state, attempt, unread = std::move(unread)] {
                 state.call.Guard([&] {
                   for (const auto& content : unread) content->Fetch();
                   const absl::Status second = attempt();
                   if (!second.ok()) state.call.Finish(second);
                 });
               });
}

}  // namespace opserve
