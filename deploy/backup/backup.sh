#!/bin/sh
# Takes a backup with pgBackRest: all of it, or what has changed since the last one. pgBackRest then deletes what is beyond the retention.
#
#     backup.sh [full|incr]
#
# Run it as the account that runs PostgreSQL. In /etc/cron.d/referral-tracker-backup:
#
#     TEXTFILE_DIRECTORY=/var/lib/prometheus/node-exporter
#     30 2 * * 0    postgres  /usr/share/referral-tracker/backup/backup.sh full
#     30 2 * * 1-6  postgres  /usr/share/referral-tracker/backup/backup.sh incr
#
# TEXTFILE_DIRECTORY: where node_exporter's textfile collector reads when the last one succeeded; the alert BackupOld needs it.
set -eu

type=${1:-incr}
pgbackrest --stanza=referral-tracker --type="$type" backup
if [ "$type" = full ]; then
    # Reads all that is kept, backups and WAL. It exits 0 whatever it finds, and prints a status only where something is wrong.
    found=$(pgbackrest --stanza=referral-tracker verify --output=text)
    case $found in
        *'status: '*)
            echo "$found" >&2
            exit 1
            ;;
    esac
fi
if [ -n "${TEXTFILE_DIRECTORY:-}" ]; then
    metric="$TEXTFILE_DIRECTORY/referral-tracker-backup.prom"
    # For another user; and never half of it.
    (umask 022 && echo "backup_last_success_timestamp_seconds $(date +%s)" > "$metric.new")
    mv "$metric.new" "$metric"
fi
