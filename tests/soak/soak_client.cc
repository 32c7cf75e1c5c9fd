#include "tests/soak/soak_client.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "opserve/rpc/status.pb.h"

namespace opserve::testing {
namespace {

using std::chrono::milliseconds;
using StreamOfCalls = grpc::ClientReaderWriter<v1::ExecuteStreamRequest, v1::ExecuteStreamResponse>;

constexpr uint64_t kMaxBytes = 8 << 20;
// Of resident tensors.
constexpr uint32_t kLeaseSeconds = 2;

void SetDeadline(grpc::ClientContext& context, milliseconds timeout) {
  context.set_deadline(std::chrono::system_clock::now() + timeout);
}

// What a correct server may answer instead of a result: it is full, or time is up.
bool IsAllowed(grpc::StatusCode code) {
  return code == grpc::StatusCode::RESOURCE_EXHAUSTED ||
         code == grpc::StatusCode::DEADLINE_EXCEEDED;
}

std::string Describe(const grpc::Status& status) {
  return absl::StrCat("status ", status.error_code(), ": ", status.error_message());
}

}  // namespace

SoakClient::Call SoakClient::RandomCall(uint64_t max_bytes) {
  const uint64_t most = max_bytes >> Random(16);
  const uint64_t count = 1 + Random(std::max<uint64_t>(most / sizeof(float), 1));
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random_() % 100001) / 8 - 5000;
  Call call;
  call.request.set_operator_("ELEMENT_WISE_ROUND");
  v1::Attribute& mode = *call.request.add_attributes();
  mode.set_name("RoundingMode");
  mode.set_enum_name("HALVES_TO_NEAREST_EVEN");
  v1::TensorDesc& input = *call.request.add_inputs();
  input.set_data_type(v1::DATA_TYPE_FLOAT32);
  input.add_sizes(static_cast<uint32_t>(count));
  call.request.add_payloads(values.data(), count * sizeof(float));
  for (float& value : values) value = std::nearbyint(value);
  call.expected.assign(reinterpret_cast<const char*>(values.data()), count * sizeof(float));
  return call;
}

std::string SoakClient::Check(const grpc::Status& status, const std::string& payload,
                              const Call& call) {
  if (!status.ok()) return IsAllowed(status.error_code()) ? "" : Describe(status);
  if (payload != call.expected) {
    return absl::StrCat("a wrong result of ", payload.size(), " bytes for ", call.expected.size());
  }
  ++answers_;
  return "";
}

std::string SoakClient::Unary() {
  const Call call = RandomCall(kMaxBytes);
  grpc::ClientContext context;
  SetDeadline(context, milliseconds(60'000));
  v1::ExecuteResponse response;
  const grpc::Status status = stub_->Execute(&context, call.request, &response);
  return Check(status, response.payload(), call);
}

std::string SoakClient::Impatient() {
  const Call call = RandomCall(kMaxBytes);
  grpc::ClientContext context;
  SetDeadline(context, milliseconds(Random(5)));
  v1::ExecuteResponse response;
  const grpc::Status status = stub_->Execute(&context, call.request, &response);
  return Check(status, response.payload(), call);
}

std::string SoakClient::Malformed() {
  Call call = RandomCall(4096);
  call.request.mutable_payloads(0)->append("too long");
  grpc::ClientContext context;
  SetDeadline(context, milliseconds(60'000));
  v1::ExecuteResponse response;
  const grpc::Status status = stub_->Execute(&context, call.request, &response);
  const bool is_refused = status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
  return is_refused || IsAllowed(status.error_code()) ? "" : Describe(status);
}

bool SoakClient::SendInPieces(StreamOfCalls& stream, uint64_t id, const Call& call) {
  const std::string& payload = call.request.payloads(0);
  v1::ExecuteStreamRequest message;
  message.set_id(id);
  *message.mutable_request() = call.request;
  message.mutable_request()->clear_payloads();
  message.add_payload_bytes(payload.size());
  for (size_t sent = 0; sent < payload.size();) {
    const size_t piece = 1 + Random(std::min<size_t>(payload.size() - sent, 1 << 20));
    message.add_payloads(payload.substr(sent, piece));
    if (!stream.Write(message)) return false;
    sent += piece;
    message.Clear();
    message.set_id(id);
  }
  return true;
}

std::string SoakClient::ReadAnswers(StreamOfCalls& stream, const std::vector<Call>& calls,
                                    const std::vector<bool>& may_be_cancelled) {
  std::vector<std::string> payloads(calls.size());
  size_t left = calls.size();
  v1::ExecuteStreamResponse message;
  std::vector<uint64_t> lengths(calls.size());
  while (left > 0 && stream.Read(&message)) {
    const uint64_t id = message.id();
    if (id >= calls.size()) return absl::StrCat("an answer to request ", id, ", which nobody sent");
    if (!message.error().empty()) {
      rpc::Status error;
      error.ParseFromString(message.error());
      const grpc::Status status(static_cast<grpc::StatusCode>(error.code()), error.message());
      const bool is_cancelled = status.error_code() == grpc::StatusCode::CANCELLED;
      if (!(is_cancelled && may_be_cancelled[id]) && !IsAllowed(status.error_code())) {
        return Describe(status);
      }
      --left;
      continue;
    }
    if (message.has_response()) lengths[id] = message.payload_bytes();
    payloads[id] += message.payload();
    if (payloads[id].size() < lengths[id]) continue;
    std::string wrong = Check(grpc::Status::OK, payloads[id], calls[id]);
    if (!wrong.empty()) return wrong;
    --left;
  }
  return left == 0 ? "" : absl::StrCat("a stream that ended with ", left, " answers missing");
}

std::string SoakClient::Stream() {
  grpc::ClientContext context;
  SetDeadline(context, milliseconds(60'000));
  const auto stream = stub_->ExecuteStream(&context);
  std::vector<Call> calls;
  const uint64_t count = 1 + Random(16);
  for (uint64_t i = 0; i < count; ++i) calls.push_back(RandomCall(kMaxBytes / 4));
  std::vector<bool> is_cancelled(count);
  for (uint64_t i = 0; i < count; ++i) is_cancelled[i] = Random(8) == 0;
  // Reading must go on meanwhile: a server may stop taking requests until answers are taken.
  std::string wrong;
  std::thread reader([&] { wrong = ReadAnswers(*stream, calls, is_cancelled); });
  bool is_open = true;
  for (uint64_t i = 0; i < count && is_open; ++i) {
    is_open = SendInPieces(*stream, i, calls[i]);
    if (!is_cancelled[i] || !is_open) continue;
    v1::ExecuteStreamRequest cancel;
    cancel.set_id(i);
    cancel.set_cancel(true);
    is_open = stream->Write(cancel);
  }
  stream->WritesDone();
  reader.join();
  if (!wrong.empty()) context.TryCancel();
  const grpc::Status status = stream->Finish();
  if (!status.ok() && !IsAllowed(status.error_code())) {
    return absl::StrCat(wrong, " stream: ", Describe(status));
  }
  return status.ok() ? wrong : "";
}

std::string SoakClient::AbandonedStream() {
  grpc::ClientContext context;
  const auto stream = stub_->ExecuteStream(&context);
  const uint64_t count = 1 + Random(4);
  for (uint64_t i = 0; i < count; ++i) {
    if (!SendInPieces(*stream, i, RandomCall(kMaxBytes / 4))) break;
  }
  context.TryCancel();
  stream->Finish();
  return "";
}

std::string SoakClient::Resident() {
  Call call = RandomCall(kMaxBytes / 4);
  v1::CreateTensorRequest create;
  *create.mutable_desc() = call.request.inputs(0);
  create.set_ttl_s(kLeaseSeconds);
  create.mutable_payload()->swap(*call.request.mutable_payloads(0));
  v1::CreateTensorResponse created;
  grpc::ClientContext creation;
  SetDeadline(creation, milliseconds(60'000));
  grpc::Status status = stub_->CreateTensor(&creation, create, &created);
  if (!status.ok()) return Check(status, "", call);

  call.request.clear_payloads();
  call.request.add_input_places()->set_tensor(created.tensor());
  call.request.mutable_output_place()->set_tensor(created.tensor());
  v1::ExecuteResponse response;
  grpc::ClientContext execution;
  SetDeadline(execution, milliseconds(60'000));
  status = stub_->Execute(&execution, call.request, &response);
  v1::ReadTensorResponse read;
  if (status.ok()) {
    v1::ReadTensorRequest request;
    request.set_tensor(created.tensor());
    grpc::ClientContext reading;
    SetDeadline(reading, milliseconds(60'000));
    status = stub_->ReadTensor(&reading, request, &read);
  }
  // On a busy machine a lease may end before the tensor was used.
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) return "";
  std::string wrong = Check(status, read.payload(), call);
  if (Random(2) == 0) return wrong;
  v1::DeleteTensorsRequest removal;
  removal.add_tensors(created.tensor());
  v1::DeleteTensorsResponse removed;
  grpc::ClientContext deletion;
  SetDeadline(deletion, milliseconds(60'000));
  stub_->DeleteTensors(&deletion, removal, &removed);
  return wrong;
}

bool SoakClient::WaitUntilNothingIsKept() {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10 * kLeaseSeconds);
  while (std::chrono::steady_clock::now() < limit) {
    v1::ListTensorsResponse kept;
    grpc::ClientContext context;
    const grpc::Status status = stub_->ListTensors(&context, {}, &kept);
    if (status.ok() && kept.tensors().empty()) return true;
    std::this_thread::sleep_for(milliseconds(200));
  }
  return false;
}

std::string SoakClient::Step() {
  switch (Random(9)) {
    case 0:
      return Impatient();
    case 1:
      return Malformed();
    case 2:
    case 3:
      return Stream();
    case 4:
      return AbandonedStream();
    case 5:
      return Resident();
    default:
      return Unary();
  }
}

}  // namespace opserve::testing
