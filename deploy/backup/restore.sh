#!/bin/sh
# Creates a data directory from a base backup and the archived WAL: the newest state, or that of a point in time.
#
#     restore.sh DIRECTORY DATA [TIME]
#
# DIRECTORY is that of base-backup.sh, DATA must be empty or missing, TIME as PostgreSQL reads it: '2026-11-22 03:15:00+00'. Run it
# as the account that runs the server; then start the server on DATA. It replays the WAL, and accepts writes
# afterwards. docs/runbook.md, "Restore from backup", says what to do before the services start: about NATS, and
# `ctl customer-ids advance`.
set -eu
umask 077

directory=${1:?usage: restore.sh DIRECTORY DATA [TIME]}
data=${2:?usage: restore.sh DIRECTORY DATA [TIME]}
time=${3:-}

if [ -d "$data" ] && [ -n "$(ls -A "$data")" ]; then
    echo "$data is not empty: move it away first, it may be needed" >&2
    exit 1
fi

# The newest base backup before that time.
base=
for candidate in "$directory"/base/*Z; do
    [ -d "$candidate" ] || continue
    name=$(basename "$candidate")
    if [ -n "$time" ]; then
        wanted=$(date -u -d "$time" +%Y%m%dT%H%M%SZ)
        [ "$(printf '%s\n%s\n' "$name" "$wanted" | sort | head -n 1)" = "$name" ] || continue
    fi
    base=$candidate
done
[ -n "$base" ] || { echo "no base backup in $directory/base is old enough" >&2; exit 1; }
pg_verifybackup --quiet "$base"

mkdir -p "$data"
chmod 700 "$data"
cp -R "$base/." "$data"
# The manifest belongs to the backup, not to the server.
rm -f "$data/backup_manifest"
wal=$(cd "$directory/wal" && pwd)
{
    echo "restore_command = 'cp \"$wal/%f\" \"%p\"'"
    echo "recovery_target_timeline = 'latest'"
    # Disables archiving, so that this server does not write to the original's archive unchecked.
    echo "archive_mode = 'off'"
    if [ -n "$time" ]; then
        echo "recovery_target_time = '$time'"
        echo "recovery_target_action = 'promote'"
    fi
} >> "$data/postgresql.auto.conf"
: > "$data/recovery.signal"
echo "restored $base; start the server on $data, and run: ctl customer-ids advance"
