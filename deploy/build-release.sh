#!/bin/sh
# Builds the programs as a release has them. target/release/symbols/ has the names of functions and lines, which the programs lack: keep them. Beside
# a program, `ingest.debug` gives its backtraces names again, and debuggers find it there. Needs binutils.
#
#     build-release.sh [--sbom]
#
# With --sbom each program contains the list of its dependencies (for `cargo audit bin` and scanners of images), and target/release/sbom/ has the same
# as CycloneDX. That needs cargo-auditable and cargo-cyclonedx, which `cargo xtask release` builds.
set -eu
cd "$(dirname "$0")/.."
programs='ingest worker webhook-consumer ctl'
symbols=target/release/symbols
sbom=target/release/sbom
rm -rf $sbom
mkdir -p $symbols $sbom

# Programs are 3 MB smaller in all. Needs glibc 2.36 or newer, as Debian 12 has.
export RUSTFLAGS="${RUSTFLAGS:--Clink-arg=-Wl,-z,pack-relative-relocs}"
[ "${1:-}" = --sbom ] && auditable=auditable || auditable=
# shellcheck disable=SC2086
cargo $auditable build --release --locked --package ingest --package worker --package webhook-consumer --package ctl

for program in $programs; do
    built=target/release/$program
    # Cargo leaves a program alone that is up to date: then its symbols are there already.
    if ! readelf --section-headers "$built" | grep -q gnu_debuglink; then
        objcopy --only-keep-debug --compress-debug-sections "$built" "$symbols/$program.debug"
        objcopy --strip-all --add-gnu-debuglink="$symbols/$program.debug" "$built"
    fi
done
[ -n "$auditable" ] || exit 0

# It describes the whole workspace, and writes beside each Cargo.toml.
cargo cyclonedx --quiet --format json --describe binaries --spec-version 1.5
for program in $programs; do
    # Removes the build directory's path.
    sed "s|file://$PWD/|file:///|g" "$program/${program}_bin.cdx.json" > "$sbom/$program.cdx.json"
    if grep -F "$PWD" "$sbom/$program.cdx.json" >&2; then
        echo "$program: its SBOM names the directory it was built in" >&2
        exit 1
    fi
done
find . -name '*.cdx.json' -not -path './target/*' -not -path '*/node_modules/*' -delete
