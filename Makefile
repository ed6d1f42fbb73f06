# The commands a newcomer needs. Every target is the name of a script, because make itself cannot handle
# a directory with a space in its name; the scripts can.
.PHONY: help build run test test-asan bench doc package clean

help:
	@echo 'make run [PORT=8080]        install what is missing, build, start the demo'
	@echo 'make test [TCL=8.6|9.0]     everything: format, lints, house laws, unit tests, the running program'
	@echo 'make build [TCL=8.6|9.0]    target/tcl8.6/release/nsd or target/tcl9.0/release/nsd'
	@echo 'make test-asan              the Tcl boundary under AddressSanitizer'
	@echo 'make bench                  side by side with nginx'
	@echo 'make doc                    Rust documentation and the Tcl reference'
	@echo 'make package                Debian package'
	@echo 'make clean                  remove target/'

build:
	@scripts/build "$(or $(TCL),8.6)"

run:
	@scripts/run "$(or $(PORT),8080)"

test:
	@scripts/test $(TCL)

test-asan:
	@scripts/test-asan

bench:
	@bench/run -o bench/RESULTS.md

doc:
	@scripts/doc

package:
	@echo 'make package: there is no package yet; it comes with the operations issue. Until then: make build.' >&2; exit 1

clean:
	rm -rf target
