#include "proto/packets/bound_file.h"

namespace opserve {

BoundFile::BoundFile(const std::string& /*path*/) {}

void BoundFile::Remove() {}

}  // namespace opserve
