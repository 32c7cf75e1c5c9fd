// File: client/cli/decimal.h
//
// Elements of tensors as numbers to show. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_CLI_DECIMAL_H_
#define OPSERVE_CLIENT_CLI_DECIMAL_H_

#include <cstdint>
#include <variant>

#include "opserve/compare.h"
#include "opserve/tensor.h"

namespace opserve::cli {

// An element's value. A float is the double with the same shortest decimal text: the float32 0.1f
// becomes 0.1, not 0.10000000149.
using Element = std::variant<int64_t, uint64_t, double>;

// The value of an element; 0 where its type is unknown.
Element ToElement(const ElementValue& element);

// The element at `index` of the buffer of `tensor`, which must be within it.
Element ElementAt(const Tensor& tensor, uint64_t index);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_DECIMAL_H_
