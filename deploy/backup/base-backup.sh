#!/bin/sh
# Takes a base backup of a running server into DIRECTORY/base/<time>, checks it, and forgets what is older than the newest KEEP.
#
#     base-backup.sh DIRECTORY [KEEP]
#
# Connects by the environment (PGHOST, PGPORT, PGUSER, PGPASSWORD or a .pgpass), as a role with REPLICATION. With the log that
# archive-wal.sh keeps in DIRECTORY/wal, restore.sh can go to any moment since the oldest base backup.
set -eu
umask 077

directory=${1:?usage: base-backup.sh DIRECTORY [KEEP]}
keep=${2:-14}
mkdir -p "$directory/base" "$directory/wal"

name=$(date -u +%Y%m%dT%H%M%SZ)
fresh="$directory/base/$name.new"
# What the backup itself needs of the log comes with it: it can be restored without the archive.
pg_basebackup --pgdata="$fresh" --format=plain --wal-method=stream --checkpoint=fast --manifest-checksums=SHA256 --no-password
pg_verifybackup --quiet "$fresh"
sync "$fresh"
mv "$fresh" "$directory/base/$name"
echo "$directory/base/$name"

# Names are times: they sort as they were made.
for old in "$directory"/base/*Z; do
    [ "$(find "$directory/base" -maxdepth 1 -name '*Z' | wc -l)" -gt "$keep" ] || break
    rm -rf "$old"
done
oldest=$(find "$directory/base" -maxdepth 1 -name '*Z' | sort | head -n 1)
first_needed=$(sed -n 's/^START WAL LOCATION: .*(file \([0-9A-F]*\)).*/\1/p' "$oldest/backup_label")
pg_archivecleanup "$directory/wal" "$first_needed"
