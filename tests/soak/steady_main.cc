// One client of steady.py: takes so many turns of a kind, unless it is killed before, and tells how
// many there were so far.
//
//   steady_client TARGET KIND TURNS

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "tests/soak/steady_client.h"

namespace {

// Turns between two lines.
constexpr long kTurnsPerLine = 10;

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: steady_client TARGET KIND TURNS\n");
    return 2;
  }
  auto connected = opserve::Client::Connect(argv[1]);
  if (!connected.ok()) {
    std::cerr << "steady_client: " << connected.status() << "\n";
    return 1;
  }
  opserve::testing::SteadyClient client(*std::move(connected));
  const long turns = std::strtol(argv[3], nullptr, 10);
  for (long turn = 1; turn <= turns; ++turn) {
    if (const absl::Status status = client.Turn(argv[2]); !status.ok()) {
      std::cerr << "steady_client: " << argv[2] << ": " << status << "\n";
      return 1;
    }
    if (turn % kTurnsPerLine == 0 || turn == turns) {
      std::printf("%ld\n", turn);
      std::fflush(stdout);
    }
  }
  return 0;
}
