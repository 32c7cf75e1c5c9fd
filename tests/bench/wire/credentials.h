// File: tests/bench/wire/credentials.h
//
// What a benchmark's client shows of itself, and whom it trusts.

#ifndef OPSERVE_TESTS_BENCH_WIRE_CREDENTIALS_H_
#define OPSERVE_TESTS_BENCH_WIRE_CREDENTIALS_H_

#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace opserve::wire_bench {

// PEM files; without an authority there is no TLS.
struct TlsFiles {
  std::string authority;    // of the server
  std::string certificate;  // of the client; empty: none
  std::string key;          // of the certificate
  std::string server_name;  // in the server's certificate; empty: as it is addressed
};

// Adds the options of a command line.
void AddOptions(CLI::App& app, TlsFiles& files);

// Plain text, or TLS with what is in the files. Throws std::runtime_error where one cannot be read.
std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(const TlsFiles& files);

// Has the channel expect the name.
void ExpectName(const TlsFiles& files, grpc::ChannelArguments& arguments);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_CREDENTIALS_H_
