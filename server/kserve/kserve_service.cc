#include "server/kserve/kserve_service.h"

#include <string>
#include <utility>

#include "inference/inference_service.pb.h"
#include "server/kserve/infer_call.h"
#include "server/kserve/infer_stream.h"
#include "server/kserve/model_info.h"
#include "server/kserve/model_names.h"
#include "server/rpc/message_bytes.h"

namespace opserve {
namespace {

// Names, and room for fields that later clients may send.
constexpr uint64_t kMaxControlBytes = 64 << 10;

ExecuteParts WithObserver(const ExecuteParts& parts, RequestObserver& observer) {
  return {parts.clock,     parts.pool,   parts.validator, parts.sequence_validator,
          parts.admission, parts.logger, parts.options,   parts.refusals,
          parts.buffers,   parts.places, parts.leases,    &observer};
}

// A method whose answer is made at once of its request, by
// `answer(const Caller&, const Request&, Response&)`, which returns a status.
template <class Request, class Response, class Answer>
UnaryHandler AnswerCallerWith(Answer answer) {
  return [answer](UnaryCall& call) {
    Request request;
    Response response;
    absl::Status status = ParseMessage(call.request(), request);
    if (status.ok()) status = answer(call.caller(), request, response);
    call.Finish(status, response);
  };
}

// The same where it does not matter who calls.
template <class Request, class Response, class Answer>
UnaryHandler AnswerWith(Answer answer) {
  return AnswerCallerWith<Request, Response>(
      [answer](const Caller&, const Request& request, Response& response) {
        return answer(request, response);
      });
}

// The same where the request says nothing that matters.
template <class Request, class Response, class Fill>
UnaryHandler FillWith(Fill fill) {
  return AnswerWith<Request, Response>([fill](const Request&, Response& response) {
    fill(response);
    return absl::OkStatus();
  });
}

// The same about one model, by `write(const OpTraits&, Response&)`.
template <class Request, class Response, class Write>
UnaryHandler TellOfModel(Write write) {
  return AnswerWith<Request, Response>(
      [write](const Request& request, Response& response) -> absl::Status {
        const auto op = FindModel(request.name(), request.version());
        if (!op.ok()) return op.status();
        write(**op, response);
        return absl::OkStatus();
      });
}

void WriteServerMetadata(inference::ServerMetadataResponse& out) {
  out.set_name("opserve");
  out.set_version(OPSERVE_VERSION);
  for (const char* const extension :
       {"model_configuration", "model_repository", "statistics", "system_shared_memory"}) {
    out.add_extensions(extension);
  }
}

}  // namespace

KserveService::KserveService(const KserveParts& parts)
    : memory_(parts.regions, parts.takes_memory_names),
      execute_(WithObserver(parts.execute, observers_)),
      is_ready_(parts.is_ready),
      rpc_(kKserveServiceName, &parts.logger) {
  observers_.Add(&statistics_);
  observers_.Add(parts.observer);
  // As of OperatorService: what has payloads is admitted with the bytes of its tensors.
  MethodLimits infer = {.role = Role::kExecute,
                        .max_request_bytes = parts.max_message_bytes,
                        .room = &parts.admission,
                        .observer = &observers_};
  rpc_.AddUnary("ModelInfer", infer,
                [this](UnaryCall& call) { StartInfer(execute_, memory_, call); });
  infer.admission = &parts.streams;
  rpc_.AddStream("ModelStreamInfer", infer,
                 [this](StreamCall& call) { return StartInferStream(execute_, memory_, call); });
  MethodLimits control = {.role = Role::kHealth,
                          .max_request_bytes = kMaxControlBytes,
                          .admission = &parts.control,
                          .observer = parts.observer};
  rpc_.AddUnary("ServerLive", control,
                FillWith<inference::ServerLiveRequest, inference::ServerLiveResponse>(
                    [](auto& out) { out.set_live(true); }));
  rpc_.AddUnary("ServerReady", control,
                FillWith<inference::ServerReadyRequest, inference::ServerReadyResponse>(
                    [this](auto& out) { out.set_ready(is_ready_()); }));
  control.role = Role::kObserve;
  rpc_.AddUnary("ServerMetadata", control,
                FillWith<inference::ServerMetadataRequest, inference::ServerMetadataResponse>(
                    WriteServerMetadata));
  AddModelMethods(control);
  AddCudaMethods(control);
  control.role = Role::kRegions;
  AddMemoryMethods(control);
}

void KserveService::AddModelMethods(const MethodLimits& observe) {
  rpc_.AddUnary(
      "ModelReady", observe,
      AnswerWith<inference::ModelReadyRequest, inference::ModelReadyResponse>(
          [this](const auto& request, auto& out) {
            out.set_ready(is_ready_() && FindModel(request.name(), request.version()).ok());
            return absl::OkStatus();
          }));
  rpc_.AddUnary("ModelMetadata", observe,
                TellOfModel<inference::ModelMetadataRequest, inference::ModelMetadataResponse>(
                    WriteModelMetadata));
  rpc_.AddUnary(
      "ModelConfig", observe,
      TellOfModel<inference::ModelConfigRequest, inference::ModelConfigResponse>(
          [](const OpTraits& op, auto& out) { WriteModelConfig(op, *out.mutable_config()); }));
  rpc_.AddUnary("ModelStatistics", observe,
                AnswerWith<inference::ModelStatisticsRequest, inference::ModelStatisticsResponse>(
                    [this](const auto& request, auto& out) -> absl::Status {
                      if (request.name().empty()) {
                        for (const OpTraits& op : OpTable())
                          statistics_.Write(op, *out.add_model_stats());
                        return absl::OkStatus();
                      }
                      const auto op = FindModel(request.name(), request.version());
                      if (!op.ok()) return op.status();
                      statistics_.Write(**op, *out.add_model_stats());
                      return absl::OkStatus();
                    }));
  rpc_.AddUnary("RepositoryIndex", observe,
                FillWith<inference::RepositoryIndexRequest, inference::RepositoryIndexResponse>(
                    WriteModelIndex));
}

void KserveService::AddMemoryMethods(const MethodLimits& regions) {
  rpc_.AddUnary("SystemSharedMemoryRegister", regions,
                AnswerCallerWith<inference::SystemSharedMemoryRegisterRequest,
                                 inference::SystemSharedMemoryRegisterResponse>(
                    [this](const Caller& caller, const auto& request, auto&) {
                      return memory_.Register(caller, request);
                    }));
  rpc_.AddUnary("SystemSharedMemoryUnregister", regions,
                AnswerCallerWith<inference::SystemSharedMemoryUnregisterRequest,
                                 inference::SystemSharedMemoryUnregisterResponse>(
                    [this](const Caller& caller, const auto& request, auto&) {
                      memory_.Unregister(caller, request.name());
                      return absl::OkStatus();
                    }));
  rpc_.AddUnary("SystemSharedMemoryStatus", regions,
                AnswerCallerWith<inference::SystemSharedMemoryStatusRequest,
                                 inference::SystemSharedMemoryStatusResponse>(
                    [this](const Caller& caller, const auto& request, auto& out) {
                      memory_.Describe(caller, request.name(), out);
                      return absl::OkStatus();
                    }));
}

void KserveService::AddCudaMethods(const MethodLimits& observe) {
  const auto nothing = [](auto&) {};
  rpc_.AddUnary(
      "CudaSharedMemoryStatus", observe,
      FillWith<inference::CudaSharedMemoryStatusRequest, inference::CudaSharedMemoryStatusResponse>(
          nothing));
  rpc_.AddUnary("CudaSharedMemoryUnregister", observe,
                FillWith<inference::CudaSharedMemoryUnregisterRequest,
                         inference::CudaSharedMemoryUnregisterResponse>(nothing));
}

}  // namespace opserve
