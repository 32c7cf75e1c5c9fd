#include "client/cli/tensor_table.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace opserve::cli {
namespace {

std::string DeviceOf(const ResidentTensorInfo& info) {
  if (info.device.empty()) return "-";
  return absl::StrCat(info.device, info.is_volatile ? " (volatile)" : "");
}

std::vector<Cell> RowOf(const ResidentTensorInfo& info) {
  return {info.handle.id,
          absl::StrCat(std::string(NameOf(info.spec.data_type)), " ",
                       absl::StrJoin(info.spec.sizes, "x")),
          absl::FormatDuration(info.ttl), DeviceOf(info),
          // Labels are any text, also such as would move the cursor.
          info.label.empty() ? "-" : absl::Utf8SafeCEscape(info.label)};
}

}  // namespace

void PrintTensorTable(const ResidentTensorList& list, const Terminal& terminal) {
  Table table({"HANDLE", "TENSOR", "LEASE", "DEVICE", "LABEL"});
  for (const ResidentTensorInfo& info : list.tensors) table.AddRow(RowOf(info));
  if (!list.tensors.empty()) table.Print(terminal);
  terminal.out << list.tensors.size() << (list.tensors.size() == 1 ? " tensor, " : " tensors, ")
               << ShowBytes(static_cast<double>(list.bytes)) << " of "
               << ShowBytes(static_cast<double>(list.max_bytes)) << '\n';
}

}  // namespace opserve::cli
