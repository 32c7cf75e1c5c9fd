#!/bin/sh
# Makes in the folder $1, each with its key NAME.key: ca.pem, an authority; server.pem, signed by it
# for server.test; client.pem, signed by it for "client"; other.pem, an authority that signed neither.
set -eu
cd "$1"

make_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

# NAME: an authority.
make_authority() {
  make_key "$1"
  openssl req -x509 -key "$1.key" -subj "/CN=$1" -days 2 -out "$1.pem"
}

# NAME DNS_NAME: a certificate of the authority.
make_signed() {
  make_key "$1"
  openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
  echo "subjectAltName=DNS:$2" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
    -extfile "$1.ext" -out "$1.pem"
}

make_authority ca
make_authority other
make_signed server server.test
make_signed client client.test
