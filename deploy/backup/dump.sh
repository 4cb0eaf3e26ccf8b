#!/bin/sh
# A logical dump, which other versions of PostgreSQL can restore, and which excludes damaged pages.
#
#     dump.sh DATABASE_URL FILE
#
# Restore with: pg_restore --exit-on-error --no-owner --dbname=EMPTY_DATABASE_URL FILE
set -eu
umask 077

url=${1:?usage: dump.sh DATABASE_URL FILE}
file=${2:?usage: dump.sh DATABASE_URL FILE}

pg_dump --format=custom --compress=6 --no-owner --dbname="$url" --file="$file.new"
# Verifies that the dump is readable.
pg_restore --list "$file.new" > /dev/null
sync "$file.new"
mv "$file.new" "$file"
