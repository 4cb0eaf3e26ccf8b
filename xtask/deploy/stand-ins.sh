#!/bin/sh
# Makes stand-ins for the images that deploy/compose.yaml and the end of deploy/Dockerfile ask for, under their names, of Debian's packages and a
# NATS server; and the programs of a release out of a directory of Cargo's. For machines that reach no registry of images.
#
#     stand-ins.sh NATS-SERVER PROGRAMS     as root, with debootstrap and a Docker Engine
#
# Never use them for anything but tests: their versions are Debian's, whatever their names say. Images that are there are kept.
set -eu

nats=$1
programs=$2
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export DOCKER_BUILDKIT=1

is_there() {
    docker image inspect "$1" > /dev/null 2>&1
}

if ! is_there debian:12.12-slim; then
    "$here/debian-tree.sh" "$work/base" ca-certificates
    rm -rf "$work"/base/var/cache/apt/archives/*.deb "$work"/base/var/lib/apt/lists/*
    tar -C "$work/base" -c . | docker import --change 'CMD ["bash"]' - debian:12.12-slim
    rm -rf "$work/base"
fi

cp "$here"/stand-ins/* "$work/"
cp "$nats" "$work/nats-server"
for image in postgres:17.6 redis:7.4 nats:2.12-alpine caddy:2.10.2 prom/prometheus:v3.5.0; do
    name=${image##*/}
    is_there "$image" || docker build --network host --target "${name%%:*}" --tag "$image" "$work"
done

# What the stage `build` of deploy/Dockerfile has, with debug programs.
mkdir -p "$work/programs/sbom"
for program in ingest worker webhook-consumer ctl; do
    strip --strip-debug -o "$work/programs/$program" "$programs/$program"
done
tar -C "$work" -c programs | docker import - referral-tracker-programs:stand-in
