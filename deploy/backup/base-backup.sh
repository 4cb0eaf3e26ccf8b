#!/bin/sh
# Takes a base backup of a running server into DIRECTORY/base/<time>, verifies it, and deletes all but the newest KEEP.
#
#     base-backup.sh DIRECTORY [KEEP]
#
# Connects by the environment (PGHOST, PGPORT, PGUSER, PGPASSWORD or a .pgpass), as a role with REPLICATION. With the WAL that
# archive-wal.sh stores in DIRECTORY/wal, restore.sh can restore any point in time since the oldest base backup.
#
# TEXTFILE_DIRECTORY: where node_exporter's textfile collector reads when the last one succeeded; the alert BackupOld needs it.
set -eu
umask 077

directory=${1:?usage: base-backup.sh DIRECTORY [KEEP]}
keep=${2:-14}
mkdir -p "$directory/base" "$directory/wal"

name=$(date -u +%Y%m%dT%H%M%SZ)
fresh="$directory/base/$name.new"
# Includes the WAL it needs, so it can be restored without the archive.
pg_basebackup --pgdata="$fresh" --format=plain --wal-method=stream --checkpoint=fast --manifest-checksums=SHA256 --no-password
pg_verifybackup --quiet "$fresh"
sync "$fresh"
mv "$fresh" "$directory/base/$name"
echo "$directory/base/$name"
if [ -n "${TEXTFILE_DIRECTORY:-}" ]; then
    metric="$TEXTFILE_DIRECTORY/referral-tracker-backup.prom"
    # For another user; and never half of it.
    (umask 022 && echo "backup_last_success_timestamp_seconds $(date +%s)" > "$metric.new")
    mv "$metric.new" "$metric"
fi

# Names are times, so they sort by age.
for old in "$directory"/base/*Z; do
    [ "$(find "$directory/base" -maxdepth 1 -name '*Z' | wc -l)" -gt "$keep" ] || break
    rm -rf "$old"
done
oldest=$(find "$directory/base" -maxdepth 1 -name '*Z' | sort | head -n 1)
first_needed=$(sed -n 's/^START WAL LOCATION: .*(file \([0-9A-F]*\)).*/\1/p' "$oldest/backup_label")
pg_archivecleanup "$directory/wal" "$first_needed"
