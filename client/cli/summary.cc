#include "client/cli/summary.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/decimal.h"

namespace opserve::cli {
namespace {

// NumPy's defaults.
constexpr uint64_t kThreshold = 1000;
constexpr uint32_t kEdgeItems = 3;
constexpr size_t kLineWidth = 75;
constexpr int kPrecision = 8;

// Text of a finite float, split at the decimal point, which is always shown: "-1." + "5".
struct Digits {
  std::string whole;
  std::string fraction;
  std::string exponent;  // "e+30", or empty
};

Digits Split(double value, std::chars_format format) {
  char buffer[400];  // the longest double in fixed notation has 309 digits before the point
  char* end = std::to_chars(buffer, buffer + sizeof(buffer), value, format).ptr;
  std::string text(buffer, end);
  const auto point_of = [](const std::string& t) { return std::min(t.find('.'), t.find('e')); };
  const size_t mantissa_end = std::min(text.find('e'), text.size());
  const size_t point = std::min(point_of(text), text.size());
  if (mantissa_end > point + 1 + kPrecision) {
    end = std::to_chars(buffer, buffer + sizeof(buffer), value, format, kPrecision).ptr;
    text.assign(buffer, end);
  }
  Digits digits;
  const size_t e = std::min(text.find('e'), text.size());
  const size_t dot = std::min(text.find('.'), e);
  digits.whole = text.substr(0, dot) + ".";
  if (dot < e) digits.fraction = text.substr(dot + 1, e - dot - 1);
  digits.exponent = text.substr(e);
  digits.fraction.erase(digits.fraction.find_last_not_of('0') + 1);
  return digits;
}

// NumPy's rule for when a column of floats needs exponents.
std::chars_format ChooseFormat(const std::vector<Element>& elements) {
  double smallest = INFINITY;
  double largest = 0;
  for (const Element& element : elements) {
    const double magnitude = std::fabs(std::get<double>(element));
    if (!std::isfinite(magnitude) || magnitude == 0) continue;
    smallest = std::min(smallest, magnitude);
    largest = std::max(largest, magnitude);
  }
  const bool needed =
      largest >= 1e8 || (largest > 0 && (smallest < 1e-4 || largest / smallest > 1e3));
  return needed ? std::chars_format::scientific : std::chars_format::fixed;
}

std::vector<std::string> FormatFloats(const std::vector<Element>& elements) {
  const std::chars_format format = ChooseFormat(elements);
  std::vector<std::string> texts;
  std::vector<Digits> finite;
  size_t longest_fraction = 0;
  for (const Element& element : elements) {
    const double value = std::get<double>(element);
    if (!std::isfinite(value)) continue;
    finite.push_back(Split(value, format));
    longest_fraction = std::max(longest_fraction, finite.back().fraction.size());
  }
  // Fractions are filled up to one length, so that points align: with zeros before an exponent.
  const char fill = format == std::chars_format::scientific ? '0' : ' ';
  auto next = finite.begin();
  for (const Element& element : elements) {
    const double value = std::get<double>(element);
    if (std::isnan(value)) {
      texts.push_back("nan");
    } else if (std::isinf(value)) {
      texts.push_back(value < 0 ? "-inf" : "inf");
    } else {
      next->fraction.resize(longest_fraction, fill);
      texts.push_back(next->whole + next->fraction + next->exponent);
      ++next;
    }
  }
  return texts;
}

std::vector<std::string> FormatIntegers(const std::vector<Element>& elements) {
  std::vector<std::string> texts;
  for (const Element& element : elements) {
    const int64_t* number = std::get_if<int64_t>(&element);
    texts.push_back(number ? absl::StrCat(*number) : absl::StrCat(std::get<uint64_t>(element)));
  }
  return texts;
}

// Texts of equal width, right-aligned.
std::vector<std::string> FormatElements(const std::vector<Element>& elements) {
  std::vector<std::string> texts = std::holds_alternative<double>(elements.front())
                                       ? FormatFloats(elements)
                                       : FormatIntegers(elements);
  size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, text.size());
  for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
  return texts;
}

// Walks over the elements to show and lays out their texts.
class Layout {
 public:
  Layout(const Tensor& tensor, bool shorten)
      : tensor_(tensor),
        strides_(tensor.spec().strides.empty() ? PackedStrides(tensor.sizes())
                                               : tensor.spec().strides),
        shorten_(shorten) {}

  std::string Print() {
    std::vector<Element> elements;
    Visit(0, 0, [&](uint64_t index) { elements.push_back(ElementAt(tensor_, index)); });
    texts_ = FormatElements(elements);
    next_ = texts_.begin();
    return PrintDimension(0);
  }

 private:
  // Whether the middle of dimension `d` is left out.
  bool IsShortened(size_t d) const { return shorten_ && tensor_.sizes()[d] > 2 * kEdgeItems; }

  template <class Visitor>
  void Visit(size_t d, uint64_t offset, const Visitor& visitor) {
    if (d == strides_.size()) return visitor(offset);
    const uint32_t size = tensor_.sizes()[d];
    for (uint32_t i = 0; i < size; ++i) {
      if (IsShortened(d) && i == kEdgeItems) i = size - kEdgeItems;
      Visit(d + 1, offset + uint64_t{i} * strides_[d], visitor);
    }
  }

  std::string PrintDimension(size_t d) {
    const bool is_last = d + 1 == strides_.size();
    const uint32_t shown = IsShortened(d) ? 2 * kEdgeItems : tensor_.sizes()[d];
    std::vector<std::string> items;
    for (uint32_t i = 0; i < shown; ++i) {
      if (IsShortened(d) && i == kEdgeItems) items.push_back("...");
      items.push_back(is_last ? *next_++ : PrintDimension(d + 1));
    }
    return is_last ? JoinRow(items) : JoinBlocks(items, d);
  }

  // Elements side by side, broken into lines. Deeper rows are indented by their brackets.
  std::string JoinRow(const std::vector<std::string>& items) const {
    const size_t depth = strides_.size();
    std::string row = "[";
    size_t column = depth;
    for (const std::string& item : items) {
      if (column > depth && column + 1 + item.size() > kLineWidth - depth) {
        absl::StrAppend(&row, "\n", std::string(depth, ' '));
        column = depth;
      } else if (column > depth) {
        row += ' ';
        ++column;
      }
      row += item;
      column += item.size();
    }
    return row + "]";
  }

  // Sub-tensors below each other, with empty lines between those of three and more dimensions.
  std::string JoinBlocks(const std::vector<std::string>& items, size_t d) const {
    const std::string separator =
        std::string(strides_.size() - d - 1, '\n') + std::string(d + 1, ' ');
    std::string block = "[";
    for (size_t i = 0; i < items.size(); ++i) {
      absl::StrAppend(&block, i == 0 ? "" : separator, items[i]);
    }
    return block + "]";
  }

  const Tensor& tensor_;
  const std::vector<uint32_t> strides_;
  const bool shorten_;
  std::vector<std::string> texts_;
  std::vector<std::string>::const_iterator next_;
};

}  // namespace

std::string Summarize(const Tensor& tensor) {
  const absl::StatusOr<uint64_t> count = ElementCount(tensor.spec());
  if (!count.ok()) return "[]";
  return Layout(tensor, *count > kThreshold).Print();
}

}  // namespace opserve::cli
