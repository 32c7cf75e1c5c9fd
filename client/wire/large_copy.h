// File: client/wire/large_copy.h
//
// Copies of large payloads by several threads: one alone moves about half of the bytes per second
// that memory can take.

#ifndef OPSERVE_CLIENT_WIRE_LARGE_COPY_H_
#define OPSERVE_CLIENT_WIRE_LARGE_COPY_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "proto/wire/message_split.h"

namespace opserve::client_internal {

// Bytes that are worth a thread: below, to start it costs about what it saves.
inline constexpr uint64_t kLeastBytesPerCopier = uint64_t{4} << 20;

// Copies `pieces`, one after the other, to `target`, which has room for all of them and overlaps
// none. Uses threads of its own beside the caller's, four in all at most, and as many as the
// process has processors; where one cannot be started, the caller's does its share.
void CopyPieces(std::span<const ByteSlice> pieces, std::byte* target);

// The same of memory in one piece.
inline void CopyPiece(ByteSlice piece, std::byte* target) { CopyPieces({&piece, 1}, target); }

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_LARGE_COPY_H_
