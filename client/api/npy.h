// File: client/api/npy.h
//
// Reads and writes NumPy's .npy files, format versions 1.0 to 3.0. Stateless and safe to use from
// any thread.
//
// Reading: bool becomes UINT8; big-endian files are converted; Fortran order becomes strides, so no
// element is moved; a 0-d array becomes a tensor of sizes {1}. Refused with INVALID_ARGUMENT:
// complex, structured, string and object arrays, sizes of 0 or above 2^32 - 1, more than 32
// dimensions, and files that are shorter or longer than their header says. A header is never
// believed before the length of the file has confirmed it, so memory stays bounded by the file.

#ifndef OPSERVE_CLIENT_API_NPY_H_
#define OPSERVE_CLIENT_API_NPY_H_

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "opserve/tensor.h"

namespace opserve {

// The tensor in a whole .npy file that is in memory.
absl::StatusOr<Tensor> ParseNpy(std::string file);

// The bytes of a .npy file that holds `tensor`, version 1.0, in C order. Throws std::bad_alloc
// where there is no memory for them, as Tensor::Packed does.
std::string FormatNpy(const Tensor& tensor);

// Reads the file `path`. Beside the errors of ParseNpy, which name the file: NOT_FOUND,
// PERMISSION_DENIED and others as the system reports them, and those of ReadFile.
absl::StatusOr<Tensor> ReadNpy(const std::string& path);

// Writes the file `path`, replacing what it held; errors as the system reports them.
absl::Status WriteNpy(const std::string& path, const Tensor& tensor);

// Reads or writes any file as a whole. Errors name the file and what the system says;
// RESOURCE_EXHAUSTED where there is no memory for it.
absl::StatusOr<std::string> ReadFile(const std::string& path);
absl::Status WriteFile(const std::string& path, absl::string_view bytes);

// What is left of an open file, which stays open. Errors call it `name`.
absl::StatusOr<std::string> ReadToEnd(std::FILE* file, const std::string& name);

}  // namespace opserve

#endif  // OPSERVE_CLIENT_API_NPY_H_
