// Messages as gRPC carries them, for tests of the client.

#ifndef OPSERVE_TESTS_UNIT_CLIENT_WIRE_MESSAGES_H_
#define OPSERVE_TESTS_UNIT_CLIENT_WIRE_MESSAGES_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "client/wire/message.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace opserve::testing {

// These bytes in slices of `slice_bytes`.
inline grpc::ByteBuffer BufferOf(std::string_view bytes, size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(slice_bytes, bytes.size()))) {
    slices.emplace_back(std::string(bytes.substr(0, slice_bytes)));
  }
  return {slices.data(), slices.size()};
}

inline std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return "no buffer";
  for (const grpc::Slice& slice : slices) bytes.append(slice.begin(), slice.end());
  return bytes;
}

// `message` as received in slices of `slice_bytes`; empty where its bytes are none.
inline client_internal::ResponseMessage ReceivedFrom(std::string_view bytes,
                                                     size_t slice_bytes = 7) {
  grpc::ByteBuffer buffer = BufferOf(bytes, slice_bytes);
  client_internal::ResponseMessage received;
  received.Read(buffer).IgnoreError();
  return received;
}

inline client_internal::ResponseMessage ReceivedFrom(const google::protobuf::Message& message) {
  return ReceivedFrom(message.SerializeAsString());
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_CLIENT_WIRE_MESSAGES_H_
