#include "tests/bench/wire/credentials.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace opserve::wire_bench {
namespace {

std::string TextOf(const std::string& path) {
  if (path.empty()) return "";
  const std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

void AddOptions(CLI::App& app, TlsFiles& files) {
  CLI::Option* const authority =
      app.add_option("--tls-ca", files.authority, "Authority of the server: TLS");
  CLI::Option* const certificate =
      app.add_option("--tls-certificate", files.certificate, "Certificate of the client")
          ->needs(authority);
  CLI::Option* const key = app.add_option("--tls-key", files.key, "Its key")->needs(certificate);
  certificate->needs(key);
  app.add_option("--tls-server-name", files.server_name, "Name in the server's certificate")
      ->needs(authority);
}

std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(const TlsFiles& files) {
  if (files.authority.empty()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials(
      {TextOf(files.authority), TextOf(files.key), TextOf(files.certificate)});
}

void ExpectName(const TlsFiles& files, grpc::ChannelArguments& arguments) {
  if (!files.server_name.empty()) arguments.SetSslTargetNameOverride(files.server_name);
}

}  // namespace opserve::wire_bench
