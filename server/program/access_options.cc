#include "server/program/access_options.h"

#include "CLI/CLI.hpp"

namespace opserve {

void AddAccessOptions(CLI::App& app, ServerOptions& server) {
  app.add_option("--policy", server.access.policy_file,
                 "TOML file that says which callers may do what; read again when it changes")
      ->type_name("FILE");
  app.add_flag("--allow-anonymous", server.access.allow_anonymous,
               "Without a policy, let callers from other machines run operators and keep tensors "
               "without proving who they are");
  app.add_option("--tokens", server.access.tokens_file,
                 "File with the hashes of the tokens that clients may show; opserve-server token "
                 "--help tells how to make them; read again when it changes")
      ->type_name("FILE");
  app.add_option("--tls-client-ca", server.tls_client_ca,
                 "PEM file with the authorities that sign the certificates of clients; read again "
                 "when it changes")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "--tls-client-auth",
         [&server](const std::string& text) {
           server.requires_client_certificate = text == "required";
         },
         "Whether clients need a certificate where there is --tls-client-ca: optional or required")
      ->type_name("MODE")
      ->default_str("required")
      ->check(CLI::IsMember({"optional", "required"}).description(""));
  app.add_flag("--insecure", server.insecure,
               "Listen without TLS at addresses that other machines reach, too");
}

}  // namespace opserve
