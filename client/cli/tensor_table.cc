#include "client/cli/tensor_table.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace opserve::cli {
namespace {

constexpr size_t kTableWidth = 80;
constexpr size_t kGap = 2;

using Row = std::vector<std::string>;

Row RowOf(const ResidentTensorInfo& info) {
  return {info.handle.id,
          absl::StrCat(std::string(NameOf(info.spec.data_type)), " ",
                       absl::StrJoin(info.spec.sizes, "x")),
          absl::FormatDuration(info.ttl), info.device.empty() ? "-" : info.device,
          // Labels are any text, also such as would move the cursor.
          info.label.empty() ? "-" : absl::Utf8SafeCEscape(info.label)};
}

// The widths of the columns once the widest ones but the first have given way.
std::vector<size_t> FittingWidths(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const size_t most = kTableWidth - kGap * (widths.size() - 1);
  while (std::accumulate(widths.begin(), widths.end(), size_t{0}) > most) {
    --*std::max_element(widths.begin() + 1, widths.end());
  }
  return widths;
}

// `text`, or its start and dots; characters stay whole.
std::string Shortened(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  size_t end = width - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "...");
}

}  // namespace

void PrintTensorTable(const ResidentTensorList& list, const Terminal& terminal) {
  std::vector<Row> rows = {{"HANDLE", "TENSOR", "LEASE", "DEVICE", "LABEL"}};
  for (const ResidentTensorInfo& info : list.tensors) rows.push_back(RowOf(info));
  const std::vector<size_t> widths = FittingWidths(rows);
  Table table(rows[0]);
  for (size_t r = 1; r < rows.size(); ++r) {
    std::vector<Cell> cells;
    for (size_t i = 0; i < widths.size(); ++i) {
      cells.emplace_back(Shortened(rows[r][i], widths[i]));
    }
    table.AddRow(std::move(cells));
  }
  if (!list.tensors.empty()) table.Print(terminal);
  terminal.out << list.tensors.size() << (list.tensors.size() == 1 ? " tensor, " : " tensors, ")
               << ShowBytes(static_cast<double>(list.bytes)) << " of "
               << ShowBytes(static_cast<double>(list.max_bytes)) << '\n';
}

}  // namespace opserve::cli
