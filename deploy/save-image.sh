#!/bin/sh
# Makes the image of the programs that build-release.sh has built, which is the Dockerfile's last stage, and saves it. Needs a Docker Engine.
#
#     save-image.sh VERSION FILE
set -eu
cd "$(dirname "$0")/.."
programs=referral-tracker-programs:$1
image=referral-tracker:$1
file=$2
bytes_at_most=80000000

# In place of the stage that compiles them.
tar --create --directory target/release --transform 's|^|programs/|' ingest worker webhook-consumer ctl sbom |
    docker import - "$programs" > /dev/null
# Without BuildKit an engine of 20.10 builds every stage.
DOCKER_BUILDKIT=1 docker build --quiet --file deploy/Dockerfile --tag "$image" --build-arg "PROGRAMS=$programs" \
    --build-arg "REVISION=$(git rev-parse HEAD)" .
docker image rm "$programs" > /dev/null

# The image has another C library than this machine: programs of a newer one would not run.
for program in ingest worker webhook-consumer ctl; do
    docker run --rm --network none "$image" "$program" --help > /dev/null
done

size() {
    docker image inspect --format '{{.Size}}' "$1"
}
base=$(sed -n 's/^FROM //p' deploy/Dockerfile | tail -n 1)
added=$(($(size "$image") - $(size "$base")))
if [ "$added" -gt "$bytes_at_most" ]; then
    echo "the image has $added bytes over its base, and may have $bytes_at_most" >&2
    exit 1
fi
docker save "$image" --output "$file"
