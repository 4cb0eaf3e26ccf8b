#!/bin/sh
# Restores the newest backup into a temporary server, runs `ctl customer-ids advance` and `ctl verify` in it, and deletes it.
#
#     drill.sh [DATABASE]
#
# Needs `ctl` (or what CTL names) and PostgreSQL's programs on the path, and disk space for another copy in TMPDIR. Run it as the
# account that runs PostgreSQL, here or on a machine with the same pgbackrest.conf; the running server is not affected. Prints how long the restore took (RTO)
# and the newest events: what is missing after them would be lost (RPO).
set -eu
umask 077

database=${1:-referral_tracker}
work=$(mktemp -d)
port=${DRILL_PORT:-54329}
server=

finish() {
    if [ -n "$server" ]; then
        pg_ctl --pgdata="$work/data" --mode=immediate --silent stop || true
    fi
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

started=$(date +%s)
# Without archiving: this server writes nothing into the original's archive.
pgbackrest --stanza=referral-tracker --pg1-path="$work/data" --archive-mode=off restore
# Some distributions keep settings outside the data directory: use the defaults then.
[ -e "$work/data/postgresql.conf" ] || : > "$work/data/postgresql.conf"
# Reachable only by its socket, and without synchronous standbys. No hot standby during recovery, which would require the original's
# settings for connections.
echo 'local all all trust' > "$work/pg_hba.conf"
pg_ctl --pgdata="$work/data" --wait --timeout=3600 --silent --log="$work/log" --options="-c port=$port \
    -c listen_addresses='' -c unix_socket_directories='$work' -c hba_file='$work/pg_hba.conf' \
    -c synchronous_standby_names='' -c hot_standby=off" start || { tail -n 30 "$work/log" >&2; exit 1; }
server=running

socket=$(printf %s "$work" | sed 's|/|%2F|g')
user=${DRILL_USER:-postgres}
export DATABASE_URL="postgres://$user@$socket:$port/$database"
query() {
    psql --no-psqlrc --tuples-only --no-align --host="$work" --port="$port" --username="$user" --dbname="$database" --command="$1"
}
until [ "$(query 'SELECT pg_is_in_recovery()' 2>> "$work/log")" = f ]; do
    pg_ctl --pgdata="$work/data" status > /dev/null || { tail -n 30 "$work/log" >&2; exit 1; }
    sleep 1
done

echo "restored, and its WAL replayed, in $(($(date +%s) - started)) s"
echo "newest click: $(query 'SELECT max(click_timestamp) FROM click_events')"
echo "newest sale: $(query 'SELECT max(sale_date) FROM sale_events')"
echo "open claims: $(query "SELECT count(*) FROM transaction_claims WHERE state = 'open'")"
"${CTL:-ctl}" customer-ids advance
"${CTL:-ctl}" verify
echo "the backup holds"
