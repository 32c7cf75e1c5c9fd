// File: tests/integration/malformed_writer.h
//
// What malformed_cases.cc and malformed_tensors.cc share.

#ifndef OPSERVE_TESTS_INTEGRATION_MALFORMED_WRITER_H_
#define OPSERVE_TESTS_INTEGRATION_MALFORMED_WRITER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "grpcpp/support/status.h"
#include "kernels/op_table.h"
#include "opserve/v1/operator_service.pb.h"
#include "tests/integration/malformed_cases.h"

namespace opserve::testing {

// A good request of `op`: vectors of four elements.
v1::ExecuteRequest GoodRequest(const OpTraits& op);

// Collects cases of one operator.
class CaseWriter {
 public:
  using Change = std::function<void(v1::ExecuteRequest&)>;

  // `cases` must outlive the writer.
  CaseWriter(const OpTraits& op, std::vector<MalformedCase>& cases) : op_(op), cases_(cases) {}

  // Each appends the cases of one topic.
  void WireGarbage();
  void Names();
  void Levels();
  void Attributes();
  void Ranks();
  void Sizes();
  void Strides();
  void DataTypes();
  void Payloads();
  void TensorNames();
  void Outputs();
  void Envelope();
  // What is refused for its number or length.
  void Floods();

 private:
  // Appends one case of so many.
  void Attributes(int count);
  void Rank(int rank);
  void PayloadsMore(int count);
  void SurplusInputs(int count);

  // A good request but for `change`; see MalformedCase for the rest.
  void Add(absl::string_view name, const Change& change, std::string field,
           grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT);
  void AddBytes(absl::string_view name, std::string bytes, std::string field,
                grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT);

  const OpTraits& op_;
  std::vector<MalformedCase>& cases_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_MALFORMED_WRITER_H_
