#!/usr/bin/env bash
# Builds the control plane of Kubernetes for the tests, from the Go modules that go.mod names: etcd, kube-apiserver,
# kube-controller-manager, kube-scheduler and kubectl, into $OPSERVE_KUBERNETES_API, by default
# ${XDG_CACHE_HOME:-~/.cache}/opserve/kubernetes-api. The definition of ServiceMonitor, out of the module of the
# Prometheus operator, comes with them.
#
#   tests/kubernetes/api/build.sh [--check]
#
# Takes about 10 minutes of two cores from nothing, 3 GB of memory, and 3 GB in Go's caches; does nothing where all
# is built of these versions, by this version of Go. --check builds nothing: it prints the folder where it is
# complete, and else says what is missing and exits with 1.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(realpath -m "${OPSERVE_KUBERNETES_API:-${XDG_CACHE_HOME:-$HOME/.cache}/opserve/kubernetes-api}")
operator=github.com/prometheus-operator/prometheus-operator@v0.85.0
declare -A package_of=(
  [etcd]=go.etcd.io/etcd/server/v3
  [kube-apiserver]=k8s.io/kubernetes/cmd/kube-apiserver
  [kube-controller-manager]=k8s.io/kubernetes/cmd/kube-controller-manager
  [kube-scheduler]=k8s.io/kubernetes/cmd/kube-scheduler
  [kubectl]=k8s.io/kubernetes/cmd/kubectl
)
definition=servicemonitors.yaml

say() { printf 'kubernetes-api: %s\n' "$*"; }

PATH=$PATH:/usr/local/go/bin
# Programs of these versions, by this Go, by these commands.
identity=$({ go env GOVERSION && cat "$here/go.mod" "$here/go.sum" "$here/build.sh"; } 2>/dev/null | sha256sum | cut -c 1-16)

is_complete() { [[ -f $folder/.built && $(<"$folder/.built") == "$identity" ]]; }

if [[ ${1:-} == --check ]]; then
  is_complete || {
    say "$folder has not the programs of tests/kubernetes/api; make kubernetes-api builds them" >&2
    exit 1
  }
  echo "$folder"
  exit 0
fi
if is_complete; then
  say "ready in $folder"
  exit 0
fi
command -v go >/dev/null || {
  say "Go is not installed" >&2
  exit 1
}

mkdir -p "$folder"
rm -f "$folder/.built"
cd "$here"
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
# What Kubernetes' own build writes into its programs.
told=
for where in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  told+=" -X $where.gitVersion=$version -X $where.gitMajor=$major -X $where.gitMinor=$minor"
  told+=" -X $where.gitTreeState=archive -X $where.gitCommit="
done
for program in "${!package_of[@]}"; do
  say "building $program"
  CGO_ENABLED=0 go build -buildvcs=false -trimpath -p "${JOBS:-$(nproc)}" -ldflags "-s -w$told" \
    -o "$folder/$program" "${package_of[$program]}"
done
sources=$(go mod download -json "$operator" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
install -m 644 "$sources/example/prometheus-operator-crd/monitoring.coreos.com_$definition" "$folder/$definition"
echo "$identity" >"$folder/.built"
say "ready in $folder: Kubernetes $version"
