# The project's verbs. Each sets up what it needs first, so any of them works on a fresh Debian 12.
# The builds themselves are CMake's: see CMakePresets.json.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
EMPTY :=
# The filter of GoogleTest that leaves out the tests of these names.
without = -$(subst $(EMPTY) $(EMPTY),:,$(strip $(1)))
# The pattern that matches what any of these matches.
any = $(subst $(EMPTY) $(EMPTY),|,$(strip $(1)))

JOBS ?= $(shell nproc)
# Debian's own interpreter: it has Debian's NumPy, another one in PATH may not.
PYTHON ?= /usr/bin/python3
PREFIX ?= /usr/local
# Extra arguments of `make serve`, `make demo`, `make bench`, `make bench-onnx`, `make bench-wire`,
# `make windows-bench`, `make loadtest`, `make prove`, `make hardest` and `make test` (the latter: of ctest).
ARGS ?=
# Extra arguments of CMake when a build folder is made.
CMAKE_ARGS ?=
# Folder of an unpacked bundle, for `make bench-gpu`.
BUNDLE ?=
# Seconds per fuzz target.
FUZZ_SECONDS ?= 60
# Right answers that `make soak` waits for.
SOAK_REQUESTS ?= 1000000
# Rounds of calls of each kind that it compares.
SOAK_ROUNDS ?= 20

RELEASE := build/release
PROGRAMS := bin/opserve-server bin/opserve
WINDOWS_PROGRAMS := build/windows-programs
# What is compiled with Clang, its sanitizers and analysis: the programs, the tests that are run, and fuzz targets.
CLANG_TARGETS := $(PROGRAMS) tests/unit/all tests/conformance/all tests/modules/all tests/integration/all \
  tests/gpu/all tests/fuzz/all
# What ThreadSanitizer's build compiles: the programs, and the tests that it runs.
THREADED_TARGETS := $(PROGRAMS) tests/unit/proto/all tests/unit/server/all bin/client_unit_test tests/modules/all \
  tests/integration/all $(patsubst %,bin/%_test,gpu_batch gpu_device gpu_loss gpu_memory gpu_queue \
  gpu_sequence gpu_submission gpu_transfers system_loss)
# What sanitizers do not run: no benchmarks, no fuzz targets, no tests of tools.
UNSANITIZED_LABELS := slow|bench|fuzz|ghz|kubernetes|package|demo|soak|hosts|ray
# What these compute is looked at, and nothing else that others do not do: the values of kernels, of which a half is
# run, of GPU kernels, of which a quarter is run, and of their text, shells' completion, the load of perf_analyzer,
# which is kserve_test's many times, proofs, and operators of others, whose kernels are compiled as all are. An
# installed library is linked without what deploy/sanitizers tells ThreadSanitizer of gRPC, as any user's is. The
# last ones read sources.
UNSANITIZED_TESTS := $(call any,^install_test$$ ^(prove|hardest|outside)_ ^device_proof_test$$ \
  ^cli_completion_test$$ ^perf_analyzer_test$$ ^kernel_conformance_test_[4-7]$$ ^gpu_(exhaustive|text)_test$$ \
  ^gpu_conformance_test_[1-3]$$ ^(adding_docs|clang_tidy|hot_path|include_directions|locks|type_names)_test$$ \
  ^sanitized_programs_test$$ _self_test$$)
# Of faults at each place and of each way of large transfers, some are run: their memory and threads are the same.
UNSANITIZED_SUITES := */GpuTransfersTest.*/Copies */GpuTransfersTest.*/Direct GpuLossServerTest.*StatusOfAFence \
  GpuLossServerTest.HangsAtASubmission GpuLossServerTest.NoMemoryForAWait GpuLossServerTest.LiesAboutASubmission \
  GpuLossServerTest.LiesAboutAWait GpuLossServerTest.ChainsSurviveALossAtASubmission \
  GpuLossServerTest.ChainsSurviveLies GpuLossServerTest.ChainsSurviveWantOfMemory \
  */StreamPiecesTest.GiveTheSameResult/7 SystemLossServerTest.*AtASignal
# Of the seeds of a model, those of two digits: ten others are enough to look at memory. Arithmetic for all of the
# operator table and for models of devices, which has no memory of its own; of self-tests one is run. Sanitizers
# themselves do not go on where there is no memory.
UNSANITIZED_SUITES += AllWidths/* */BatchQueueModelTest.*/?? */ClosedLoopTest.* \
  DevicePoolTest.SelfTestReportsEachGpu DispatchTest.* FirstUseTest.ASelfTestOnRequestCounts KernelCostsTest.* \
  LargeCopyDeathTest.* LoadGeneratorDeathTest.* NpyDeathTest.* */PlacementRegretTest.* PoolThreadsDeathTest.* \
  SelfTestCallTest.GoodDevicesPass SelfTestEndTest.* SelfTestTest.CallsThatRunTogetherAreOfOneLane \
  SelfTestTest.SkipsWhatTheDeviceDoesNotSupport
# The cells of the operator table differ in what they compute, not in threads. The command and what browsers see of
# a page have no threads that client and server are not tested with.
UNTHREADED_TESTS := $(call any,$(UNSANITIZED_TESTS) ^gpu_conformance_test_ ^gpu_(content|pieces|rows)_test$$ \
  ^cli_ ^lease_signals_test$$ ^page_ ^prometheus_test$$ ^(compare|hlsl|kernels|slow)_unit_test$$)
# Long computations of a single thread, which has nobody to race with, and requests that are refused before there are
# others.
UNTHREADED_SUITES := $(UNSANITIZED_SUITES) */BatchQueueModelTest.* CalibrationTest.* ComposeTest.* \
  DevicePoolTest.Auto* FailoverTest.HardwareIsMeasuredAgainWhenItReturns FreeRangesTest.* \
  GpuMemoryTest.CopiesGoWhenOthersTakeMemory MalformedTest.* PlanTest.* \
  PoolHomeTest.OthersExpectNothingFromHowFastTheyWere SelfTestTest.* SequenceTest.BrokenMessages* \
  StreamSequenceTest.TensorsMayBeLargerThanTheServersLimits ValidateTest.*
# The sanitizer guesses how glibc laid out the thread-local data of a library loaded at run time, here by
# its address alone, and LeakSanitizer ends where the guess is wrong. Without it, it reads none of them.
export ASAN_OPTIONS ?= detect_stack_use_after_return=1:strict_string_checks=1:intercept_tls_get_addr=0
export UBSAN_OPTIONS ?= print_stacktrace=1
export LSAN_OPTIONS ?= suppressions=$(CURDIR)/deploy/sanitizers/lsan.supp:print_suppressions=0
# What functions of the C library read and write is not looked at: each copy that an uninstrumented library
# makes would be a report to suppress, byte by byte. That libraries should be left out as a whole
# (ignore_noninstrumented_modules) takes all modules for such ones, and hides locks that are taken in two orders.
TSAN_SUPPRESSIONS := $(CURDIR)/deploy/sanitizers/tsan.supp
export TSAN_OPTIONS ?= suppressions=$(TSAN_SUPPRESSIONS):second_deadlock_stack=1:ignore_interceptors_accesses=1

.PHONY: help
help: ## List the verbs
	@printf 'opserve: make VERB\n\n'
	@sed -En 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 21
	@printf '\nVariables: JOBS=%s PREFIX=%s FUZZ_SECONDS=%s ARGS=...\n' \
	  '$(JOBS)' '$(PREFIX)' '$(FUZZ_SECONDS)'

.PHONY: setup
setup: ## Install what the verbs need, but those of Windows and check-image, which install theirs by themselves
	@deploy/setup.sh build test peers bundle python lint clang bench

# Configures a preset. Ninja itself re-runs CMake when a CMakeLists.txt changes.
build/%/build.ninja: CMakePresets.json
	@mkdir -p build && echo "configure: $*"
	@cmake --preset $* -Wno-dev $(CMAKE_ARGS) >build/$*.log 2>&1 || { cat build/$*.log >&2; exit 1; }
	@touch $@

.PHONY: packages
packages:
	@deploy/setup.sh build test bundle python

.PHONY: build
build: packages ## Build opserve-server and opserve into build/release/bin
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) $(PROGRAMS)

.PHONY: demo
demo: build ## Run operators of every family through a server and check the results
	@$(PYTHON) tests/demo/demo.py --bin $(RELEASE)/bin $(ARGS)

.PHONY: test
test: packages ## Build everything and run every test
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS)
	@ctest --test-dir $(RELEASE) --output-on-failure --parallel $(JOBS) $(ARGS)

.PHONY: serve
serve: build ## Start a server on 127.0.0.1:50051
	@$(RELEASE)/bin/opserve-server --listen 127.0.0.1:50051 $(ARGS)

.PHONY: bench
bench: packages ## Measure kernels against memcpy, batches, placement, and ONNX Runtime where it installs
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/bench_kernels bin/bench_pool
	@$(RELEASE)/bin/bench_kernels $(ARGS)
	@$(RELEASE)/bin/bench_pool
	@$(MAKE) bench-onnx ARGS=

.PHONY: bench-kernels
bench-kernels: packages ## Measure the kernels alone, or count their instructions (ARGS='--instructions')
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/bench_kernels
	@$(RELEASE)/bin/bench_kernels $(ARGS)

.PHONY: bench-onnx
bench-onnx: packages ## Measure the kernels side by side with ONNX Runtime (ARGS='--filter TANH')
	@deploy/setup.sh bench
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/bench_kernels
	@if .venv/bin/python -c 'import onnxruntime' 2>/dev/null; then \
	  .venv/bin/python tests/bench/compare_onnxruntime.py --bin $(RELEASE)/bin $(ARGS); \
	else \
	  echo 'bench-onnx: skipped, ONNX Runtime is not installed'; \
	fi

.PHONY: bench-wire
bench-wire: packages ## Measure what travels over the wire against bare gRPC (ARGS='--plot FILE.png')
	@deploy/setup.sh bench
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/opserve-server bin/wire_peer bin/wire_load bin/wire_idle
	@$(PYTHON) tests/bench/wire/bench_wire.py --bin $(RELEASE)/bin $(ARGS)

.PHONY: bench-pollers
bench-pollers: packages ## Measure how calls per second grow with the server's pollers (ARGS='--clients 8')
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/opserve-server bin/wire_load
	@$(PYTHON) tests/bench/wire/bench_pollers.py --bin $(RELEASE)/bin $(ARGS)

.PHONY: bench-shared
bench-shared: packages ## Measure overload, and a greedy client beside a modest one (ARGS='--seconds 2')
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/opserve-server bin/shared_load
	@$(PYTHON) tests/bench/shared/bench_shared.py --bin $(RELEASE)/bin $(ARGS)

.PHONY: bench-observed
bench-observed: packages ## Measure what identity, quotas, metrics and logs cost (ARGS='--rounds 5')
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/opserve-server bin/wire_load
	@$(PYTHON) tests/bench/observed/bench_observed.py --bin $(RELEASE)/bin $(ARGS)

.PHONY: bench-tls
bench-tls: packages ## Measure mutual TLS against plain text, and new connections (ARGS='--rounds 3')
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/opserve-server bin/wire_load bin/tls_connect
	@$(PYTHON) tests/bench/tls/bench_tls.py --bin $(RELEASE)/bin $(ARGS)

.PHONY: bench-connections
bench-connections: packages ## Measure 10,000 connections of 1,000 identities (ARGS='--connections 2000')
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/opserve-server bin/opserve bin/libheap_meter.so
	@$(PYTHON) tests/bench/connections/bench_connections.py --bin $(RELEASE)/bin $(ARGS)

.PHONY: hosts
hosts: packages ## Run clients of several hosts that fail, directly and behind HAProxy and nginx
	@deploy/setup.sh peers
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/opserve-server bin/opserve bin/host_load
	@$(PYTHON) tests/hosts/hosts_test.py --bin $(RELEASE)/bin --all command list name haproxy nginx

.PHONY: ray
ray: wheel ## Run 10,000 tasks on three nodes of Ray's with servers, one node killed half-way (ARGS='--tasks 1000')
	@deploy/setup.sh peers
	@ninja -C $(RELEASE) -j $(JOBS) bin/opserve-server
	@$(PYTHON) tests/ray/ray_test.py --build $(RELEASE) $(ARGS)

.PHONY: bench-proxies
bench-proxies: packages ## Measure what HAProxy and nginx before three hosts cost (ARGS='--seconds 5')
	@deploy/setup.sh peers
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/opserve-server bin/opserve
	@$(PYTHON) tests/hosts/bench_proxies.py --bin $(RELEASE)/bin $(ARGS)

.PHONY: bench-attacks
bench-attacks: build ## Measure how long others wait while one client floods the server
	@for attack in rapid_reset endless_headers frame_floods; do \
	  $(PYTHON) tests/redteam/$${attack}_test.py --bin $(RELEASE)/bin --measure; \
	done

.PHONY: loadtest
loadtest: packages ## Load by ghz: saturation, soak, large tensors, overload; a report (ARGS='--within-ms 5')
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) $(PROGRAMS)
	@$(PYTHON) tests/bench/load/loadtest.py --bin $(RELEASE)/bin --tools $(RELEASE)/tools \
	  --output build/loadtest $(ARGS)

.PHONY: bench-python
bench-python: wheel ## Measure the Python client against the C++ client (ARGS='--repeats 3')
	@ninja -C $(RELEASE) -j $(JOBS) bin/opserve-server bin/opserve
	@PYTHONPATH=$(RELEASE)/wheel/site .venv/bin/python tests/bench/python/bench_python.py \
	  --bin $(RELEASE)/bin $(ARGS)

.PHONY: bench-gpu
bench-gpu: ## Measure a GPU, and write build/opserve-gpu-report.txt (BUNDLE=FOLDER: with the programs of a bundle)
ifeq ($(BUNDLE),)
	@$(MAKE) bundle-programs
	@deploy/bundle/bench-gpu.sh --bin $(RELEASE)/bin --report build/opserve-gpu-report.txt $(ARGS)
else
	@mkdir -p build
	@$(BUNDLE)/bench-gpu.sh --report build/opserve-gpu-report.txt $(ARGS)
endif

.PHONY: bundle-programs
bundle-programs: packages
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bundle_programs

.PHONY: bundle
bundle: bundle-programs ## Pack programs and libraries into build/opserve-VERSION-linux-x86_64.tar.gz
	@deploy/bundle/make-bundle.sh $(RELEASE) build

.PHONY: wheel
wheel: packages ## Build the Python package into build/wheel
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) python_wheel
	@mkdir -p build/wheel && rm -f build/wheel/*.whl && cp $(RELEASE)/wheel/*.whl build/wheel/
	@echo "wheel: $$(echo build/wheel/*.whl)"

.PHONY: lint
lint: packages ## Check format, run clang-tidy on changed files (ALL=1: on all) and shellcheck
	@deploy/setup.sh lint
	@$(MAKE) build/lint/build.ninja
	@deploy/lint.sh $(if $(ALL),--all)

.PHONY: format
format: ## Format all C++ sources
	@deploy/setup.sh lint
	@git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-14 -i

.PHONY: prove
prove: packages ## Compare functions of all FLOAT32 with MPFR (ARGS='--gpu ELEMENT_WISE_EXP'), or a GPU (ARGS=--device)
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/prove
	@$(RELEASE)/bin/prove $(ARGS)

.PHONY: hardest
hardest: packages ## Find the inputs that are hardest to round, and write them (ARGS=ELEMENT_WISE_EXP)
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/hardest
	@$(RELEASE)/bin/hardest $(ARGS) >$(RELEASE)/hard_inputs.def
	@mv $(RELEASE)/hard_inputs.def client/inputs/hard_inputs.def

.PHONY: exhaustive
exhaustive: packages ## Compare CPU kernels of the seed operators with the C library by the billion
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/kernel_exhaustive_test
	@OPSERVE_EXHAUSTIVE=1 $(RELEASE)/bin/kernel_exhaustive_test $(ARGS)

.PHONY: docs
docs: packages ## Write docs/operators.md from the operator table
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/opdoc
	@$(RELEASE)/bin/opdoc >docs/operators.md

.PHONY: ops
ops: packages ## Write the client's header of operators from the operator table
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/opcalls
	@$(RELEASE)/bin/opcalls >$(RELEASE)/ops.h
	@mv $(RELEASE)/ops.h client/include/opserve/ops.h

.PHONY: python-operators
python-operators: build ## Write the Python package's operators from the catalogue
	@$(PYTHON) client/python/generate_operators.py --bin $(RELEASE)/bin

.PHONY: clang
clang: packages ## Build programs and tests with Clang, its thread-safety analysis and sanitizers
	@deploy/setup.sh clang
	@$(MAKE) build/clang/build.ninja
	@ninja -C build/clang -j $(JOBS) $(CLANG_TARGETS)

.PHONY: asan
asan: clang ## Run the tests, slow ones excepted, under AddressSanitizer and UBSan
	@GTEST_FILTER='$(call without,$(UNSANITIZED_SUITES))' ctest --test-dir build/clang \
	  --output-on-failure --parallel $(JOBS) \
	  -L 'unit|conformance|integration|gpu' -LE '$(UNSANITIZED_LABELS)' -E '$(UNSANITIZED_TESTS)' $(ARGS)

.PHONY: tsan
tsan: packages ## Run the unit, integration and GPU tests under ThreadSanitizer
	@$(MAKE) build/tsan/build.ninja
	@ninja -C build/tsan -j $(JOBS) $(THREADED_TARGETS)
	@GTEST_FILTER='$(call without,$(UNTHREADED_SUITES))' ctest --test-dir build/tsan \
	  --output-on-failure --parallel $(JOBS) \
	  -L 'unit|integration|gpu' -LE '$(UNSANITIZED_LABELS)' -E '$(UNTHREADED_TESTS)' $(ARGS)

.PHONY: fuzz
fuzz: packages ## Run every fuzz target for FUZZ_SECONDS
	@deploy/setup.sh clang
	@$(MAKE) build/clang/build.ninja
	@ninja -C build/clang -j $(JOBS) tests/fuzz/all
	@deploy/fuzz.sh build/clang $(FUZZ_SECONDS)

.PHONY: soak
soak: build ## SOAK_REQUESTS mixed requests amid kills, resets and reloads: none wrong, nothing grows
	@ninja -C $(RELEASE) -j $(JOBS) tests/soak/all
	@$(PYTHON) tests/soak/soak.py --bin $(RELEASE)/bin --requests $(SOAK_REQUESTS) $(ARGS)
	@$(PYTHON) tests/soak/steady.py --bin $(RELEASE)/bin --rounds $(SOAK_ROUNDS)

.PHONY: windows
windows: ## Build the Direct3D 12 layer for Windows, and test it under Wine
	@deploy/setup.sh windows
	@$(MAKE) build/windows/build.ninja
	@ninja -C build/windows -j $(JOBS) tests/windows/all
	@ctest --test-dir build/windows --output-on-failure $(ARGS)
	@echo 'windows: the programs for Windows are built and tested by make windows-programs, after make windows-sysroot'

.PHONY: windows-sysroot
windows-sysroot: ## Build the libraries that programs for Windows need (20 to 40 minutes, once)
	@deploy/setup.sh build windows windows-sysroot
	@deploy/windows/make-sysroot.sh

# CMake runs each time, because the sysroot may be another one.
.PHONY: windows-build
windows-build: packages
	@deploy/setup.sh windows
	@mkdir -p build
	@sysroot=$$(deploy/windows/make-sysroot.sh --check); \
	cmake --preset windows -B $(WINDOWS_PROGRAMS) -Wno-dev -DOPSERVE_WINDOWS_SYSROOT="$$sysroot" \
	  $(CMAKE_ARGS) >build/windows-programs.log 2>&1 || \
	  { cat build/windows-programs.log >&2; exit 1; }
	@ninja -C $(WINDOWS_PROGRAMS) -j $(JOBS) bin/opserve-server.exe bin/opserve.exe

.PHONY: windows-programs
windows-programs: windows-build ## Build server, command and client library for Windows, and test them under Wine
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) bin/opserve
	@ninja -C $(WINDOWS_PROGRAMS) -j $(JOBS) tests/windows/all
	@ctest --test-dir $(WINDOWS_PROGRAMS) --output-on-failure $(ARGS)

.PHONY: windows-wheel
windows-wheel: windows-build ## Build the Python package's wheel for Windows, and test it under Wine
	@deploy/setup.sh python
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) $(PROGRAMS) python_wheel
	@ninja -C $(WINDOWS_PROGRAMS) -j $(JOBS) client/all
	@deploy/windows/make-wheel.sh $(WINDOWS_PROGRAMS) $(RELEASE)
	@deploy/windows/fetch-python.sh $(WINDOWS_PROGRAMS)/python
	@ctest --test-dir $(WINDOWS_PROGRAMS) --output-on-failure -R '^windows_wheel_test$$'

.PHONY: windows-bench
windows-bench: windows-build ## Measure opserve-server.exe under Wine against opserve-server (ARGS='--rounds 5')
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) $(PROGRAMS)
	@xvfb-run --auto-servernum $(PYTHON) tests/windows/bench_wine.py --linux $(RELEASE)/bin \
	  --windows $(WINDOWS_PROGRAMS)/bin --prefix $(WINDOWS_PROGRAMS)/wine-bench $(ARGS)

.PHONY: windows-bundle
windows-bundle: windows-build ## Pack the programs for Windows into build/opserve-VERSION-windows-x86_64.zip
	@deploy/windows/make-bundle.sh $(WINDOWS_PROGRAMS) build

.PHONY: kubernetes-api
kubernetes-api: ## Build Kubernetes' control plane, and test the deployment on it (10 minutes for two cores, once)
	@deploy/setup.sh build test peers
	@tests/kubernetes/api/build.sh
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS) $(PROGRAMS)
	@OPSERVE_REQUIRE=$${OPSERVE_REQUIRE-},kubernetes-api ctest --test-dir $(RELEASE) --output-on-failure \
	  --no-tests=error -R '^kubernetes_api_test$$' $(ARGS)

.PHONY: install
install: packages ## Install programs, library and headers below PREFIX
	@$(MAKE) $(RELEASE)/build.ninja
	@ninja -C $(RELEASE) -j $(JOBS)
	@cmake --install $(RELEASE) --prefix $(PREFIX)

.PHONY: deb
deb: bundle-programs ## Pack build/opserve-server_VERSION_amd64.deb, and those of the command and the client library
	@cpack --config $(RELEASE)/CPackConfig.cmake -B build >build/deb.log 2>&1 || { cat build/deb.log >&2; exit 1; }
	@rm -rf build/_CPack_Packages
	@ls build/*.deb

.PHONY: check-image
check-image: ## Build the image without a container engine, start it, ask for its health (ARGS='--keep')
	@deploy/setup.sh image
	@deploy/check-image.py $(ARGS)

.PHONY: clean
clean: ## Remove all that was built
	@rm -rf build
