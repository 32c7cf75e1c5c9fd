// File: client/base/message_feed.h
//
// What is done for a message while it is under way, by the thread that waits for the answer.

#ifndef OPSERVE_CLIENT_BASE_MESSAGE_FEED_H_
#define OPSERVE_CLIENT_BASE_MESSAGE_FEED_H_

namespace opserve::client_internal {

// Fills memory that a message refers to, which the server reads meanwhile. Used by one thread at a
// time.
class MessageFeed {
 public:
  enum class Progress {
    kFed,      // some of it is there
    kStalled,  // the server has to make room; it has had about a millisecond for that
    kDone,     // all of it is there
  };

  virtual ~MessageFeed() = default;

  // The message is about to be sent, perhaps once more after a server has refused it.
  virtual void Begin() = 0;
  // To be called again and again, until all is there or the call is over.
  virtual Progress Feed() = 0;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_BASE_MESSAGE_FEED_H_
