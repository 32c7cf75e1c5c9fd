#include "proto/base/system_sockets.h"
#include "proto/packets/unique_fd.h"

namespace opserve {

void CloseDescriptor(int fd) { closesocket(static_cast<SOCKET>(fd)); }

}  // namespace opserve
