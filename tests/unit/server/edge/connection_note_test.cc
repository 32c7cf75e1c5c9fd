// What a connection keeps for those who know its calls.

#include "server/edge/connection_note.h"

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "server/edge/connection_peer.h"
#include "server/edge/connection_table.h"

namespace opserve {
namespace {

class AnyNote final : public ConnectionNote {};

// Puts a connection from a port of 10.0.0.7 in the place of whatever had the descriptor.
void Connect(int fd, uint16_t port) {
  PeerIdentity peer;
  peer.address = "10.0.0.7";
  peer.port = port;
  PutConnection(fd, std::make_shared<EdgeConnection>(std::move(peer), 1, false, FrameLimits(),
                                                     std::make_shared<ClientTraffic>(),
                                                     std::make_shared<ReadTurns>()));
}

TEST(ConnectionNoteTest, IsThatOfTheConnectionAlone) {
  Connect(6000, 1);
  Connect(6001, 2);
  EXPECT_EQ(NoteOf("ipv4:10.0.0.7:1"), nullptr);
  const auto note = std::make_shared<const AnyNote>();
  TakeTurnsAs("ipv4:10.0.0.7:1", "token:a", note);
  EXPECT_EQ(NoteOf("ipv4:10.0.0.7:1"), note);
  EXPECT_EQ(NoteOf("ipv4:10.0.0.7:2"), nullptr);
  EXPECT_EQ(NoteOf("ipv4:10.0.0.7:3"), nullptr);
  TakeTurnsAs("ipv4:10.0.0.7:1", "token:b", nullptr);
  EXPECT_EQ(NoteOf("ipv4:10.0.0.7:1"), nullptr);
}

TEST(ConnectionNoteTest, EndsWithTheConnection) {
  Connect(6002, 4);
  auto note = std::make_shared<const AnyNote>();
  const std::weak_ptr<const AnyNote> kept = note;
  TakeTurnsAs("ipv4:10.0.0.7:4", "token:a", std::move(note));
  EXPECT_FALSE(kept.expired());
  Connect(6002, 5);
  EXPECT_TRUE(kept.expired());
  // The same address again, by another descriptor, while the old one is still to be given away.
  Connect(6003, 5);
  TakeTurnsAs("ipv4:10.0.0.7:5", "token:a", std::make_shared<const AnyNote>());
  Connect(6004, 5);
  EXPECT_EQ(NoteOf("ipv4:10.0.0.7:5"), nullptr);
  // Only then is that one given to a third: the second is found all the same.
  Connect(6003, 6);
  TakeTurnsAs("ipv4:10.0.0.7:5", "token:a", std::make_shared<const AnyNote>());
  EXPECT_NE(NoteOf("ipv4:10.0.0.7:5"), nullptr);
}

}  // namespace
}  // namespace opserve
