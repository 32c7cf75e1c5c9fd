// File: tests/integration/resident_fixture.h
//
// Calls about resident tensors, and requests that use them.

#ifndef OPSERVE_TESTS_INTEGRATION_RESIDENT_FIXTURE_H_
#define OPSERVE_TESTS_INTEGRATION_RESIDENT_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/integration/memory_fixture.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {

class ResidentTensorTest : public MemoryTest {
 protected:
  // Calls a method as a client of that name, or of none.
  template <class Request, class Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response& response, const std::string& client = "me") {
    grpc::ClientContext context;
    if (!client.empty()) context.AddMetadata("opserve-client", client);
    return (server_->stub().*method)(&context, request, &response);
  }

  static v1::CreateTensorRequest NewFloats(const Floats& values) {
    v1::CreateTensorRequest request;
    request.mutable_desc()->set_data_type(v1::DATA_TYPE_FLOAT32);
    request.mutable_desc()->add_sizes(static_cast<uint32_t>(values.size()));
    request.set_payload(BytesOf(values));
    return request;
  }
  v1::CreateTensorResponse Create(const v1::CreateTensorRequest& request,
                                  const std::string& client = "me") {
    v1::CreateTensorResponse response;
    const grpc::Status status = Call(&Stub::CreateTensor, request, response, client);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  std::string CreateFloats(const Floats& values) { return Create(NewFloats(values)).tensor(); }
  grpc::Status Refusal(const v1::CreateTensorRequest& request) {
    v1::CreateTensorResponse response;
    return Call(&Stub::CreateTensor, request, response);
  }

  grpc::Status Write(const std::string& tensor, uint64_t offset, const std::string& payload,
                     const std::string& client = "me") {
    v1::WriteTensorRequest request;
    request.set_tensor(tensor);
    request.set_offset(offset);
    request.set_payload(payload);
    v1::WriteTensorResponse response;
    return Call(&Stub::WriteTensor, request, response, client);
  }
  grpc::Status Read(const std::string& tensor, v1::ReadTensorResponse& response,
                    uint64_t offset = 0, uint64_t bytes = 0, const std::string& client = "me") {
    v1::ReadTensorRequest request;
    request.set_tensor(tensor);
    request.set_offset(offset);
    request.set_bytes(bytes);
    return Call(&Stub::ReadTensor, request, response, client);
  }
  Floats Values(const std::string& tensor) {
    v1::ReadTensorResponse response;
    const grpc::Status status = Read(tensor, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return ValuesOf<float>(response.payload());
  }
  v1::ListTensorsResponse List(const std::string& client = "me") {
    v1::ListTensorsResponse response;
    EXPECT_TRUE(Call(&Stub::ListTensors, {}, response, client).ok());
    return response;
  }
  uint32_t Delete(const std::string& tensor, const std::string& client = "me") {
    v1::DeleteTensorsRequest request;
    request.add_tensors(tensor);
    v1::DeleteTensorsResponse response;
    EXPECT_TRUE(Call(&Stub::DeleteTensors, request, response, client).ok());
    return response.deleted();
  }
  Answer Execute(const v1::ExecuteRequest& request, const std::string& client = "me") {
    Answer answer;
    answer.status = Call(&Stub::Execute, request, answer.response, client);
    return answer;
  }

  // The server reads the clock until it has stopped.
  void TearDown() override { server_.reset(); }

  SimulatedClock clock_{SteadyClock().Now()};
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_RESIDENT_FIXTURE_H_
