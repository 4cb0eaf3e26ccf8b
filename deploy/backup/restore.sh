#!/bin/sh
# Makes a data directory of a base backup and the log kept since: the newest state there is, or that of a moment.
#
#     restore.sh DIRECTORY DATA [TIME]
#
# DIRECTORY is that of base-backup.sh, DATA must be empty or missing, TIME as PostgreSQL reads it: '2026-11-22 03:15:00+00'. Run it
# as the account that runs the server; then start the server on DATA. It reads the log, and is open for writing when it is
# done. docs/runbook.md, "Restore from backup", says what to do about NATS before the services start.
set -eu
umask 077

directory=${1:?usage: restore.sh DIRECTORY DATA [TIME]}
data=${2:?usage: restore.sh DIRECTORY DATA [TIME]}
time=${3:-}

if [ -d "$data" ] && [ -n "$(ls -A "$data")" ]; then
    echo "$data is not empty: move it away first, it may be needed" >&2
    exit 1
fi

# The newest base backup that is older than the moment.
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
# The manifest is the backup's, not the server's.
rm -f "$data/backup_manifest"
wal=$(cd "$directory/wal" && pwd)
{
    echo "restore_command = 'cp \"$wal/%f\" \"%p\"'"
    echo "recovery_target_timeline = 'latest'"
    # What the server before was told about its archive must not make this one write into it before somebody has looked.
    echo "archive_mode = 'off'"
    if [ -n "$time" ]; then
        echo "recovery_target_time = '$time'"
        echo "recovery_target_action = 'promote'"
    fi
} >> "$data/postgresql.auto.conf"
: > "$data/recovery.signal"
echo "restored $base; start the server on $data"
