#!/bin/sh
# Builds the programs of a release. Each contains the list of its dependencies (for `cargo audit bin` and image scanners);
# target/release/sbom/ has the same as CycloneDX, one file for each program. target/release/symbols/ has the names of functions and lines, which the
# programs lack: keep them with the release. Beside a program, `ingest.debug` gives its backtraces names again, and debuggers find it there.
#
# It needs cargo-auditable and cargo-cyclonedx, in the versions of the Dockerfile, and binutils.
set -eu
cd "$(dirname "$0")/.."

# As in the Dockerfile: programs are 3 MB smaller in all. Needs glibc 2.36 or newer, as Debian 12 has.
export RUSTFLAGS="${RUSTFLAGS:--Clink-arg=-Wl,-z,pack-relative-relocs}"
cargo auditable build --release --locked --package ingest --package worker --package webhook-consumer --package ctl

symbols=target/release/symbols
mkdir -p "$symbols"
for program in ingest worker webhook-consumer ctl; do
    built=target/release/$program
    # Cargo leaves a program alone that is up to date: then its symbols are there already.
    if ! readelf --section-headers "$built" | grep -q gnu_debuglink; then
        objcopy --only-keep-debug --compress-debug-sections "$built" "$symbols/$program.debug"
        objcopy --strip-all --add-gnu-debuglink="$symbols/$program.debug" "$built"
    fi
done

sbom=target/release/sbom
rm -rf "$sbom"
mkdir -p "$sbom"
for program in ingest worker webhook-consumer ctl; do
    # It describes the whole workspace each time, and writes beside each Cargo.toml.
    [ -f "$program/${program}_bin.cdx.json" ] ||
        cargo cyclonedx --quiet --format json --describe binaries --spec-version 1.5
    # Removes the build directory's path.
    sed "s|file://$PWD/|file:///|g" "$program/${program}_bin.cdx.json" > "$sbom/$program.cdx.json"
    if grep -F "$PWD" "$sbom/$program.cdx.json" >&2; then
        echo "$program: its SBOM names the directory it was built in" >&2
        exit 1
    fi
done
find . -name '*.cdx.json' -not -path './target/*' -not -path '*/node_modules/*' -delete
