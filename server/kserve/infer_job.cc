#include "server/kserve/infer_job.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/data_type.h"
#include "kernels/tensor_desc.h"
#include "server/kserve/infer_request.h"
#include "server/kserve/model_names.h"
#include "server/wire/wire.h"

namespace opserve {
namespace {

// Of a result, whose elements lie one after the other.
uint64_t PackedBytes(const v1::TensorDesc& desc) {
  return ElementCount(ViewOf(desc).sizes).value_or(0) *
         SizeOf(static_cast<DataType>(desc.data_type()));
}

// Tells of a result in shared memory where it is, in the client's words.
void CopyPlace(const inference::ModelInferRequest::InferRequestedOutputTensor& asked,
               inference::ModelInferResponse::InferOutputTensor& output) {
  for (const absl::string_view name : {kMemoryRegionParameter, kMemoryOffsetParameter}) {
    const auto found = asked.parameters().find(std::string(name));
    if (found != asked.parameters().end()) {
      (*output.mutable_parameters())[std::string(name)] = found->second;
    }
  }
}

}  // namespace

void InferJob::Start(grpc::ByteBuffer& bytes, Clock::TimePoint deadline) {
  ReceivedMessage payloads;
  const absl::Status status = Accept(bytes, deadline, payloads);
  if (status.ok()) {
    job_.Submit(std::move(payloads));
  } else {
    job_.Refuse(status);
  }
}

absl::Status InferJob::Accept(grpc::ByteBuffer& bytes, Clock::TimePoint deadline,
                              ReceivedMessage& payloads) {
  constexpr int kRawInputField = inference::ModelInferRequest::kRawInputContentsFieldNumber;
  inference::ModelInferRequest infer;
  absl::Status status = payloads.Read(bytes, infer, kRawInputField);
  response_.set_model_name(infer.model_name());
  response_.set_id(infer.id());
  // The log names what it can.
  job_.request().set_request_id(infer.id());
  if (!status.ok()) return status;
  std::vector<uint64_t> payload_bytes = payloads.payload_bytes();
  InferSettings settings;
  const auto find_memory = [this](const std::string& name, uint64_t offset, uint64_t size,
                                  const std::string& field, ViolationList& violations) {
    return memory_.RangeOf(caller(), name, offset, size, field, violations);
  };
  status = TranslateInferRequest(infer, payload_bytes.size(), find_memory, parts_.buffers,
                                 job_.request(), settings);
  if (!status.ok()) return status;
  inference::ModelInferResponse::InferOutputTensor& output = *response_.add_outputs();
  if (job_.request().has_output_place()) CopyPlace(infer.outputs(0), output);
  const size_t header_bytes = payloads.header_bytes();
  if (!settings.contents.empty()) {
    payload_bytes = std::move(settings.content_bytes);
    payloads = ReceivedMessage(std::move(settings.contents));
  }
  if (settings.timeout) deadline = std::min(deadline, parts_.clock.Now() + *settings.timeout);
  marks_final_response_ = settings.marks_final_response;
  return job_.Accept(std::move(payload_bytes),
                     {.deadline = deadline,
                      .header_bytes = header_bytes,
                      // Clients of the protocol say how much room there is.
                      .takes_larger_place = true});
}

void InferJob::Send(const v1::ExecuteResponse& header, std::span<OutgoingPayload> payloads) {
  response_.set_model_version(kModelVersion);
  if (marks_final_response_) {
    (*response_.mutable_parameters())["triton_final_response"].set_bool_param(true);
  }
  auto& output = *response_.mutable_outputs(0);
  output.set_name(std::string(FindOperator(job_.request().operator_())->output.name));
  output.set_datatype(
      std::string(KserveNameOf(static_cast<DataType>(header.output().data_type()))));
  for (const uint32_t size : header.output().sizes()) output.add_shape(size);
  if (job_.request().has_output_place()) {
    // How much of its place the result took.
    (*output.mutable_parameters())[std::string(kMemoryBytesParameter)].set_int64_param(
        static_cast<int64_t>(PackedBytes(header.output())));
    // Triton's clients expect an entry for each output, which is empty here.
    response_.add_raw_output_contents();
  }
  owner_.OnInferred(response_, std::move(payloads.front()));
}

}  // namespace opserve
