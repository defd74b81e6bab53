# What each target does; the two that matter are run and test. Each sets up what it needs on a fresh machine.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOTESTSUM   = gotest.tools/gotestsum@v1.13.0

.PHONY: help run test test-all check lint setup drill docs fuzz bench

help:           ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: setup      ## check every norm of the built-in model on the best GPU adapter, software included
	go run ./cmd/cera-run

test: setup     ## run all tests, and say how many ran and what was skipped
	go run $(GOTESTSUM) --format pkgname -- -timeout 20m ./...

test-all: test  ## the tests, every variant of the norm kernels, and the race detector for what runs goroutines
	CERA_ALL_VARIANTS=1 go test -timeout 30m -run ConformanceNorms ./gpu
	go test -race -timeout 30m ./backend/... ./check ./cpu ./cpufast ./trace ./layers ./gguf ./weights ./shaders

check: lint test ## everything CI checks

lint:           ## gofmt, vet, staticcheck, the import table
	@test -z "$$(gofmt -l .)" || { echo "not gofmt-clean:"; gofmt -l .; exit 1; }
	go vet ./...
	CGO_ENABLED=0 go vet ./cmd/... ./engine/... ./gpu/...
	go run $(STATICCHECK) ./...
	go test -run TestImports .

setup:          ## install a C compiler, the Vulkan loader and a driver where they are missing
	@scripts/setup.sh

drill:          ## inject every fault of the drill and write what was named to docs/fault-drill.md
	go test ./engine -run TestDrill -args -drill-out=../docs/fault-drill.md

docs:           ## write the tables of docs/support.md from the code
	go test -run TestSupport . -args -update

fuzz:           ## fuzz every parser for a minute each
	@set -e; for pkg in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-1m} -fuzzminimizetime 1x $$pkg; \
		done; done

bench:          ## benchmarks of every package
	go test -run '^$$' -bench . -benchmem ./...
