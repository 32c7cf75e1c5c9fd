// One client of the soak test: works until it is killed, or until an answer is wrong.
//
//   soak_client TARGET SEED

#include <cstdio>
#include <cstdlib>

#include "grpcpp/grpcpp.h"
#include "tests/soak/soak_client.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: soak_client TARGET SEED\n");
    return 2;
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  opserve::testing::SoakClient client(
      grpc::CreateCustomChannel(argv[1], grpc::InsecureChannelCredentials(), arguments),
      static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)));
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
