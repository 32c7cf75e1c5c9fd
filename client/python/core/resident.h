// File: client/python/core/resident.h
//
// Tensors that the server keeps as objects of Python. To be used with the GIL held.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_RESIDENT_H_
#define OPSERVE_CLIENT_PYTHON_CORE_RESIDENT_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "opserve/client.h"
#include "opserve/owned_tensor.h"

namespace opserve::python {

// Owns a tensor of the server's, which is given up with it. Its lease is renewed meanwhile.
class ResidentTensor {
 public:
  // `is_single`: of no dimensions.
  ResidentTensor(std::shared_ptr<Client> client, TensorLease lease, TensorSpec spec,
                 bool is_single);

  const TensorSpec& spec() const { return spec_; }
  bool is_single() const { return is_single_; }
  // Throws BadArguments once it was deleted, and in forked processes.
  const TensorHandle& handle() const;
  const std::string& device() const { return device_; }
  bool is_deleted() const { return owned_ == nullptr; }

  // A copy of the elements as a new array, or in `out`.
  nanobind::object Read(nanobind::handle out);
  // Replaces all elements by those of an array of the same type and shape.
  void Write(nanobind::handle array);
  // Tells the server at once that it is not needed any more.
  void Delete() { owned_.reset(); }

 private:
  const std::shared_ptr<Client> client_;
  const TensorSpec spec_;
  const bool is_single_;
  const std::string device_;
  std::shared_ptr<OwnedTensor> owned_;  // null once it was deleted
};

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_RESIDENT_H_
