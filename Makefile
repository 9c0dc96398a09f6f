# The product needs Go alone; make test brings in the rest (make deps).
# PKGS narrows every target: make test PKGS='./policy/... ./internal/...'

PKGS ?= ./...

# One place for the versions of the tools; the scripts get them from here.
export STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
export GOFUMPT     := go run mvdan.cc/gofumpt@v0.12.0
export GOTESTSUM   := go run gotest.tools/gotestsum@v1.13.0
export PKGS

.PHONY: build test test-vm test-vm-all test-vm-systemd kernels-page deps check vet staticcheck fmt fmt-check static clean

build:
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

# Everything a change must pass. Run it as root: it then runs the tests a second
# time as an ordinary user.
test:
	@scripts/test.sh

# The tests on real kernels, each in a machine of its own (qemu, root's apt for the
# packages). VM_KERNELS names others: make test-vm VM_KERNELS='6.1 newest'
VM_KERNELS ?= default

test-vm:
	@integration/vm/run.sh $(VM_KERNELS)

test-vm-all:
	@integration/vm/run.sh all

# One machine with systemd, where the tests run in a user's scope.
test-vm-systemd:
	@integration/vm/systemd.sh

# docs/kernels.md, from what the last make test-vm or test-vm-all left.
kernels-page:
	@go run ./scripts/kernelspage .cache/vm/runs docs/kernels.md

deps:
	@scripts/deps.sh

# The parts of make test that run nothing of ours.
check: vet staticcheck fmt-check static

vet:
	CGO_ENABLED=0 GOARCH=amd64 go vet $(PKGS)
	CGO_ENABLED=0 GOARCH=arm64 go vet $(PKGS)
	CGO_ENABLED=1 go vet -C confine/seccomp/compile ./...

staticcheck:
	CGO_ENABLED=0 $(STATICCHECK) $(PKGS)
	cd confine/seccomp/compile && CGO_ENABLED=1 $(STATICCHECK) ./...

fmt:
	$(GOFUMPT) -w .

fmt-check:
	@scripts/fmt-check.sh

static:
	@scripts/static.sh

clean:
	rm -rf bin .cache
