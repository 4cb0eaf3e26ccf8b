#!/bin/sh
# PostgreSQL's archive_command: keeps one segment of the log.
#
#     archive_mode = on
#     archive_timeout = 60s
#     archive_command = '/usr/share/referral-tracker/backup/archive-wal.sh %p %f /var/backups/referral-tracker/wal'
#
# Succeeds only when the segment is on the disk, whole: PostgreSQL then forgets it. The directory must be another machine's.
set -eu

segment=${1:?usage: archive-wal.sh PATH NAME DIRECTORY}
name=${2:?}
directory=${3:?}

mkdir -p "$directory"
kept="$directory/$name"
if [ -e "$kept" ]; then
    # Archived, and the answer was lost. Anything else under this name belongs to another server: it is never overwritten.
    cmp -s "$segment" "$kept"
    exit
fi
cp "$segment" "$kept.$$.new"
sync "$kept.$$.new"
mv "$kept.$$.new" "$kept"
sync "$directory"
