// Windows has no setting for the congestion control of one socket.

#include "proto/transport/loopback_tuning.h"

namespace opserve {

bool CanTuneLoopback() { return false; }

void TuneAcceptedLoopback(int /*fd*/) {}

void TuneServerLoopback(grpc::ChannelArguments& /*arguments*/) {}

void TuneClientLoopback(const std::string& /*target*/, grpc::ChannelArguments& /*arguments*/) {}

}  // namespace opserve
