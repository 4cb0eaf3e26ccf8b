#!/bin/sh
# Installs the Debian package as an operator does and starts what it brings beside Debian's own servers, in a container: an overlay of this
# machine's files, with processes and a network of its own. Takes a backup and tries it out. Prints what listens, and fails where that is not on
# loopback.
#
#     installed.sh DIRECTORY PACKAGE NATS-SERVER CADDY     as root
#
# In DIRECTORY it writes; nothing outside is changed.
set -eu

wait_for() {
    what=$1
    shift
    for _ in $(seq 120); do
        if "$@" > /dev/null 2>&1; then
            return
        fi
        sleep 0.5
    done
    echo "$what does not answer" >&2
    tail -n 20 /var/log/referral-tracker-*.log >&2
    exit 1
}

# What systemd makes of a unit, as far as it matters here: settings out of files, secrets in a directory of the unit's own.
run_unit() {
    unit=/usr/lib/systemd/system/referral-tracker-$1.service
    secrets=/run/credentials/$1
    mkdir -p "$secrets"
    sed -n 's/^LoadCredential=\(.*\):\(.*\)$/\1 \2/p' "$unit" | while read -r name file; do
        cp "$file" "$secrets/$name"
    done
    files=$(sed -n 's/^EnvironmentFile=//p' "$unit")
    # shellcheck disable=SC2086
    settings=$(sed -e '/^#/d' -e '/^$/d' $files; sed -n "s|%d|$secrets|; s/^Environment=//p" "$unit")
    # No setting has a blank in it.
    # shellcheck disable=SC2046,SC2086
    exec env -i $settings $(sed -n 's/^ExecStart=//p' "$unit")
}

# The front with its settings, on loopback, for a name that Caddy signs itself.
front() {
    settings=$(sed -e '/^#/d' -e '/^$/d' /etc/referral-tracker/front.env)
    # shellcheck disable=SC2086
    env -i HOME=/run/caddy PATH="$PATH" $settings FRONT_BIND=127.0.0.1 \
        caddy run --config /usr/share/referral-tracker/Caddyfile --adapter caddyfile > /var/log/referral-tracker-front.log 2>&1 &
    authority=/run/caddy/.local/share/caddy/pki/authorities/local/root.crt
    wait_for 'the front' curl --fail --silent --cacert $authority https://localhost/readyz
    # The ingest knows neither path.
    for path in /webhooks/stripe/1 /api/webhook-distributor/stripe; do
        status=$(curl --silent --cacert $authority --output /dev/null --write-out '%{http_code}' --data '{}' "https://localhost$path")
        if [ "$status" != 400 ]; then
            echo "$path at the front is answered $status" >&2
            exit 1
        fi
    done
    if [ "$(curl --silent --output /dev/null --write-out '%{redirect_url}' http://localhost/app)" != https://localhost/app ]; then
        echo 'the front does not redirect to https' >&2
        exit 1
    fi
}

as_postgres() {
    runuser -u postgres -- "$@"
}

# As deploy/README.md says, to the drill.
back_up() {
    cluster=$1/installed
    install -o postgres -g postgres -m 0640 /usr/share/referral-tracker/backup/pgbackrest.conf /etc/pgbackrest.conf
    sed -i "s|^pg1-path=.*|pg1-path=/var/lib/postgresql/$cluster|" /etc/pgbackrest.conf
    as_postgres pgbackrest --stanza=referral-tracker stanza-create
    sed -n 's/^# *\(archive_.*\)/\1/p' /etc/pgbackrest.conf >> "/etc/postgresql/$cluster/postgresql.conf"
    pg_ctlcluster "$1" installed restart
    as_postgres pgbackrest --stanza=referral-tracker check
    as_postgres /usr/share/referral-tracker/backup/backup.sh full
    as_postgres env CTL=/usr/lib/referral-tracker/ctl PATH="/usr/lib/postgresql/$1/bin:$PATH" \
        /usr/share/referral-tracker/backup/drill.sh > /var/log/referral-tracker-drill.log
}

listening() {
    ss --no-header --listening --tcp --udp --numeric --processes
}

beyond_loopback() {
    listening | awk '$5 !~ /^(127\.[0-9.]+|\[::1\]):[0-9]+$/'
}

inside() {
    export DEBIAN_FRONTEND=noninteractive
    ip link set lo up

    dpkg --install /package.deb
    /usr/share/referral-tracker/make-secrets.sh /etc/referral-tracker/credentials
    credentials=/etc/referral-tracker/credentials

    # All that an operator changes here: a disk of any size will do.
    sed -i 's/^STREAM_MAX_BYTES=.*/STREAM_MAX_BYTES=67108864/' /etc/referral-tracker/common.env

    # The servers, with the settings that Debian's packages and ours bring.
    version=$(basename "$(find /usr/lib/postgresql -mindepth 1 -maxdepth 1 | sort --version-sort | tail -n 1)")
    pg_createcluster "$version" installed --port 5432
    pg_ctlcluster "$version" installed start
    as_postgres psql --quiet --cluster "$version/installed" < $credentials/roles.sql
    collation=$(as_postgres psql --cluster "$version/installed" --tuples-only --no-align \
        --command "SELECT datcollate, datcollversion FROM pg_database WHERE datname = 'referral_tracker'")
    if [ "$collation" != 'C|' ]; then
        echo "the order of texts depends on the C library: $collation" >&2
        exit 1
    fi
    redis-server /etc/redis/redis.conf --daemonize yes --dir /run --pidfile /run/redis.pid --logfile /run/redis.log
    mkdir -p /data
    # shellcheck disable=SC2046
    env $(cat $credentials/nats.env) nats-server --config /usr/share/referral-tracker/nats/single.conf 2> /var/log/referral-tracker-nats.log &
    wait_for NATS curl --fail --silent http://127.0.0.1:8222/healthz

    (run_unit migrate) > /var/log/referral-tracker-migrate.log 2>&1
    for service in worker delivery ingest webhook-consumer; do
        (run_unit "$service") > "/var/log/referral-tracker-$service.log" 2>&1 &
    done
    for port in 8080 8081 8082 8083; do
        wait_for "what listens on $port" curl --fail --silent "http://127.0.0.1:$port/readyz"
    done
    referral-tracker-ctl user create --email olive@shop.example --name Olive --workspace Shop --generate-password > /dev/null
    front

    back_up "$version"

    # A server that listens on every address is seen by the same look.
    nats-server --port 14222 2> /dev/null &
    open=$!
    wait_for 'the open server' sh -c 'ss --no-header --listening --tcp --numeric | grep -q :14222'
    if ! beyond_loopback | grep -q :14222; then
        echo 'a server that listens on every address goes unseen' >&2
        exit 1
    fi
    kill $open
    wait $open || true

    listening
    if beyond_loopback | grep .; then
        echo 'these listen beyond loopback' >&2
        exit 1
    fi
}

if [ "$1" = inside ]; then
    inside
    exit
fi

directory=$1
root=$directory/root
mkdir -p "$root" "$directory/upper" "$directory/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$directory/upper,workdir=$directory/work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
# This machine's clusters are not the container's.
rm -rf "$root/etc/postgresql" "$root/var/lib/postgresql"
mkdir -p "$root/etc/postgresql" "$root/var/lib/postgresql"
chown postgres:postgres "$root/etc/postgresql" "$root/var/lib/postgresql"
chmod 1777 "$root/tmp"
install -d -o postgres -g postgres -m 2775 "$root/run/postgresql"
install -m 0755 "$3" "$root/usr/local/bin/nats-server"
install -m 0755 "$4" "$root/usr/local/bin/caddy"
cp "$2" "$root/package.deb"
cp "$0" "$root/installed.sh"
exec chroot "$root" /bin/sh /installed.sh inside
