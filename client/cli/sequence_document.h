// File: client/cli/sequence_document.h
//
// The JSON from which `opserve sequence` makes its call. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_CLI_SEQUENCE_DOCUMENT_H_
#define OPSERVE_CLIENT_CLI_SEQUENCE_DOCUMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/arguments/arguments.h"
#include "opserve/call.h"

namespace opserve::cli {

// An input of a step as it is written.
struct InputText {
  std::string from;              // a file, or "tensor:HANDLE"; unused where it is
  std::optional<uint32_t> step;  // the result of an earlier step
  Dimensions sizes = {};         // empty: the source's own
  Dimensions strides = {};
  std::string name = {};  // DirectML's; empty: as its place in the list says
};

// A step as it is written.
struct StepText {
  std::string operator_name;
  std::vector<Attribute> attributes = {};
  std::vector<InputText> inputs = {};
  std::string output = {};  // a file, "tensor:HANDLE", or empty
  Dimensions output_strides = {};
  DataType output_type = DataType::kUnknown;  // kUnknown: by the operator's rule
};

// The steps of a document. INVALID_ARGUMENT names the field that is wrong, its value, and what is
// allowed.
absl::StatusOr<std::vector<StepText>> ParseSequenceDocument(absl::string_view text);

// The same with one text per step.
absl::StatusOr<std::vector<StepText>> ParseSequenceSteps(const std::vector<std::string>& texts);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_SEQUENCE_DOCUMENT_H_
