// File: server/edge/key_updates.h
//
// Changes of keys in TLS, which a client may ask for at any time: in TLS 1.3 by a message, in TLS
// 1.2 by a handshake anew, which OpenSSL refuses. It works through all of them that are there
// before it gives any bytes away, and tells of each by a callback for messages
// (SSL_set_msg_callback), whose arguments these are. Stateless.

#ifndef OPSERVE_SERVER_EDGE_KEY_UPDATES_H_
#define OPSERVE_SERVER_EDGE_KEY_UPDATES_H_

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>

namespace opserve {

// Whether the message is one that the other end has sent for that.
inline bool IsKeyUpdateOfPeer(int is_sent, int type, const void* message, size_t bytes,
                              const SSL* ssl) {
  if (is_sent != 0 || bytes == 0) return false;
  const uint8_t kind = *static_cast<const uint8_t*>(message);
  if (type == SSL3_RT_HANDSHAKE) return kind == SSL3_MT_KEY_UPDATE;
  // Of what it refuses OpenSSL shows the headers of its records alone.
  return type == SSL3_RT_HEADER && kind == SSL3_RT_HANDSHAKE && SSL_is_init_finished(ssl) != 0;
}

// As if the other end had said farewell: OpenSSL takes no further record.
inline void TakeNoMoreRecords(SSL* ssl) {
  SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_KEY_UPDATES_H_
