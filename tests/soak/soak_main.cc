// One client of the soak test: works until it is killed, or until an answer is wrong.
//
//   soak_client TARGET SEED
//   soak_client TARGET empty     succeeds once the server keeps nothing for killed clients

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "grpcpp/grpcpp.h"
#include "proto/base/first_connection.h"
#include "tests/soak/soak_client.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: soak_client TARGET SEED|empty\n");
    return 2;
  }
  opserve::PrepareFirstConnection();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  opserve::testing::SoakClient client(
      grpc::CreateCustomChannel(argv[1], grpc::InsecureChannelCredentials(), arguments),
      static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)));
  if (std::strcmp(argv[2], "empty") == 0) return client.WaitUntilNothingIsKept() ? 0 : 1;
  while (true) {
    const std::string wrong = client.Step();
    if (!wrong.empty()) {
      std::fprintf(stderr, "soak_client: %s\n", wrong.c_str());
      return 1;
    }
    // Its parent adds these up.
    std::printf("%llu\n", static_cast<unsigned long long>(client.answers()));
    std::fflush(stdout);
  }
}
