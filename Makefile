# What each target does; the two that matter are run and test. Each sets up what it needs on a fresh machine.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOTESTSUM   = gotest.tools/gotestsum@v1.13.0

.PHONY: help run test test-all check lint setup drill docs fuzz bench soak release

help:           ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: setup      ## check every norm of the built-in model on the best GPU adapter, software included
	go run ./cmd/cera-run

test: setup     ## run the tests, and say how many ran and what was skipped
	go run $(GOTESTSUM) --format pkgname -- -timeout 20m ./...

test-all: setup ## the tests at full length, and once more under the race detector: about an hour on two cores
	CERA_FULL=1 go run $(GOTESTSUM) --format pkgname -- -timeout 60m ./...
	go test -race -timeout 60m ./...

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

soak:           ## mixed requests for 30 minutes, or SOAK=2h: everything stays right, and nothing grows
	CERA_SOAK=$${SOAK:-30m} go test -timeout 0 -count 1 -run '^TestSoak$$' -v ./engine

# The sources, the toolchain in go.mod and these flags alone decide the bytes. The GPU build links C: its bytes depend on the
# host's compiler and linker as well.
RELEASE_FLAGS = -trimpath -buildvcs=true
RELEASE_LINK  = -s -w -buildid=
PLATFORMS     = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

release:        ## cpu-only programs for every platform and one with the GPU for this host, with checksums, in dist
	@rm -rf dist && mkdir dist
	@set -e; for p in $(PLATFORMS); do os=$${p%/*}; arch=$${p#*/}; ext=; [ $$os != windows ] || ext=.exe; \
		echo "cera-run-cpu-$$os-$$arch$$ext"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build $(RELEASE_FLAGS) -ldflags '$(RELEASE_LINK)' -o dist/cera-run-cpu-$$os-$$arch$$ext ./cmd/cera-run; \
	done
	@set -e; gpu=cera-run-gpu-$$(go env GOOS)-$$(go env GOARCH)$$(go env GOEXE); echo "$$gpu"; \
		CGO_ENABLED=1 go build $(RELEASE_FLAGS) -ldflags '$(RELEASE_LINK)' -o dist/$$gpu ./cmd/cera-run
	@cd dist && sha256sum cera-run-* > SHA256SUMS && cat SHA256SUMS
