#include "proto/packets/unique_fd.h"

#include <unistd.h>

namespace opserve {

void CloseDescriptor(int fd) { close(fd); }

}  // namespace opserve
