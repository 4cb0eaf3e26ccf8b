#!/bin/sh
# A copy of the database that another version of PostgreSQL can read too, and that damaged pages cannot pass into.
#
#     dump.sh DATABASE_URL FILE
#
# Restored by: pg_restore --exit-on-error --no-owner --dbname=EMPTY_DATABASE_URL FILE
set -eu
umask 077

url=${1:?usage: dump.sh DATABASE_URL FILE}
file=${2:?usage: dump.sh DATABASE_URL FILE}

pg_dump --format=custom --compress=6 --no-owner --dbname="$url" --file="$file.new"
# A file that cannot be listed cannot be restored.
pg_restore --list "$file.new" > /dev/null
sync "$file.new"
mv "$file.new" "$file"
