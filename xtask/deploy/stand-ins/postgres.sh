#!/bin/bash
# Makes the cluster at the first start, reachable by the local socket alone until it is made.
set -euo pipefail
if [ "$1" = postgres ] && ! [ -s "$PGDATA/PG_VERSION" ]; then
    password=${POSTGRES_PASSWORD:-$(cat "$POSTGRES_PASSWORD_FILE")}
    # shellcheck disable=SC2086
    initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s\n' "$password") --auth-local=trust --auth-host=trust ${POSTGRES_INITDB_ARGS:-}
    printf 'host all all all scram-sha-256\n' >> "$PGDATA/pg_hba.conf"
    printf "listen_addresses = '*'\n" >> "$PGDATA/postgresql.conf"
    pg_ctl --wait --options="-c listen_addresses=''" start
    createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl --wait --mode=fast stop
fi
exec "$@"
