#!/bin/sh
# PostgreSQL's archive_command: archives one WAL segment.
#
#     archive_mode = on
#     archive_timeout = 60s
#     archive_command = '/usr/share/referral-tracker/backup/archive-wal.sh %p %f /var/backups/referral-tracker/wal'
#
# Succeeds only after the complete segment is synced, because PostgreSQL then recycles it. The directory should be on another machine.
set -eu

segment=${1:?usage: archive-wal.sh PATH NAME DIRECTORY}
name=${2:?}
directory=${3:?}

mkdir -p "$directory"
kept="$directory/$name"
if [ -e "$kept" ]; then
    # Already archived, and the result was lost. A different file of this name is another server's, and is never overwritten.
    cmp -s "$segment" "$kept"
    exit
fi
cp "$segment" "$kept.$$.new"
sync "$kept.$$.new"
mv "$kept.$$.new" "$kept"
sync "$directory"
