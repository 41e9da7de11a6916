# The commands people run; CI runs the same ones.

.PHONY: run test race crash full browser client bench bench-peers verify generate fuzz mutate screenshot

run: ## the shop, on an SQLite file in this folder: http://127.0.0.1:8080
	go run ./examples/shop

# How many packages are tested at once: most of their time they wait for databases and browsers.
PARALLEL ?= 4
test: ## everything, without the race detector, of runtime's tests a third on each server (all with LOCKSTEP_TEST_FULL=1); what needs a browser or a server is skipped, in one line, where there is none
	go test -p $(PARALLEL) -timeout 30m ./...

race: ## the same under the race detector, but for the folder that is about JavaScript
	go test -race -p $(PARALLEL) -timeout 30m $$(go list ./... | grep -v /lockstep/static)

CRASH ?= 2m
CRASH_ON ?= sqlite postgres mysql
crash: ## kill and stop worker processes at every point in turn and then for CRASH at random, on each database, and check what is left
	LOCKSTEP_CRASH_DURATION=$(CRASH) LOCKSTEP_CRASH_ON="$(CRASH_ON)" go test -count=1 -timeout 0 -v -run '^TestCrash' ./runtime/crash

full: CRASH = 1h
full: FUZZTIME = 10m
full: ## a night's work: every case at the size it states, CRASH on each database, each fuzz target for FUZZTIME
	LOCKSTEP_TEST_FULL=1 go test -p 1 -count=1 -timeout 0 ./...
	$(MAKE) crash CRASH=$(CRASH) CRASH_ON="$(CRASH_ON)"
	$(MAKE) fuzz FUZZTIME=$(FUZZTIME)

browser: ## only what drives a real Chromium or Firefox, which must be there
	LOCKSTEP_TEST_REQUIRE_CHROMIUM=1 LOCKSTEP_TEST_REQUIRE_FIREFOX=1 go test -count=1 ./static/... ./web/... ./examples/...

client: ## what the browser client is checked with, from npm, and then its types, its size and its side of the protocol; make test does the same from then on
	npm --prefix static ci
	LOCKSTEP_TEST_REQUIRE_NODE=1 go test -count=1 -v -run '^TestClient$$' ./static

BENCHTIME ?= 1s
bench: ## the benchmarks; BENCHTIME=1x just proves that they run
	go test -run '^$$' -bench . -benchtime $(BENCHTIME) ./...

bench-peers: ## fan-out, memory and storms side by side with centrifuge and Datastar, and morphs in Chromium with Turbo's; ARGS=-quick for less than a minute
	npm --prefix examples/bench ci --silent
	go -C examples/bench run . $(ARGS)

FUZZTIME ?= 10s
# Where the time ends at a bad moment the go command takes its own deadline for a failure, without an input: once more, then.
fuzz: ## each fuzz target for FUZZTIME
	@set -e; for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "fuzz $$pkg $$target"; \
			fuzz="go test -run ^$$ -fuzz ^$$target$$ -fuzztime $(FUZZTIME) $$pkg"; \
			out=$$($$fuzz 2>&1) && echo "$$out" || { echo "$$out"; \
				echo "$$out" | grep -q '^    context deadline exceeded$$' && $$fuzz || exit 1; }; \
		done; \
	done

MUTATE ?= .*
mutate: ## break each rule of docs/contract.md by one line and demand that its tests notice; MUTATE=G7 for one
	LOCKSTEP_MUTATE='$(MUTATE)' go test -count=1 -timeout 0 -v -run '^TestMutations$$' .

screenshot: ## the README's picture, taken from the running shop
	LOCKSTEP_TEST_REQUIRE_CHROMIUM=1 LOCKSTEP_SCREENSHOT=$(CURDIR)/docs/shop.png go test -count=1 -run '^TestScreenshot$$' ./examples/shop

generate: ## templates to Go
	go tool templ generate

verify: ## what a reviewer would ask first: formatting, vet, SQL grammar, modernizers, tidy modules, generated files
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./...
	go -C runtime/store/mysql/grammar test ./...
	@test -z "$$(go fix -diff ./... 2>/dev/null | tee /dev/stderr)"
	go mod tidy -diff
	@before=$$(git ls-files -z '*_templ.go' | xargs -0 sha256sum); $(MAKE) -s generate >/dev/null 2>&1; \
	after=$$(git ls-files -z '*_templ.go' | xargs -0 sha256sum); \
	test "$$before" = "$$after" || { echo "generated templates are stale: commit what make generate writes" >&2; exit 1; }
