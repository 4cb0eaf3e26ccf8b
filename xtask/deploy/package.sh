#!/bin/sh
# Installs the Debian package as an operator does, in a container with systemd as its first process and Debian's servers: walks through it, takes a
# backup and tries it out, looks for what listens beyond loopback, and starts the machine again. Units run as systemd runs them, confined. Prints
# what it found.
#
#     package.sh DIRECTORY PACKAGE NATS-SERVER     as root, with debootstrap and systemd-nspawn
#
# DIRECTORY keeps Debian's files, `base`, for the next time; the container has a network of its own.
set -eu

services='worker delivery ingest webhook-consumer'
base=http://127.0.0.1:8080
credentials=/etc/referral-tracker/credentials

fail() {
    echo "FAILED: $*" >&2
    systemctl --no-pager --no-legend list-units 'referral-tracker*' nats.service >&2 || true
    journalctl --no-pager --lines 40 --unit 'referral-tracker*' >&2 || true
    exit 1
}

ctl() {
    referral-tracker-ctl "$@"
}

as_postgres() {
    runuser -u postgres -- "$@"
}

# $1: SQL of one value.
sql() {
    as_postgres psql --dbname referral_tracker --tuples-only --no-align --command "$1"
}

ready() {
    for port in 8080 8081 8082 8083; do
        curl --silent --show-error --fail --retry 60 --retry-delay 1 --retry-all-errors --output /dev/null "http://127.0.0.1:$port/readyz" \
            2> /dev/null || fail "$1: nothing is ready on port $port"
    done
}

# Each service is the installed program, under an account of its own, without rights, and sees neither the secrets' directory nor /home.
confined() {
    for service in $services; do
        unit=referral-tracker-$service.service
        process=$(systemctl show --property MainPID --value "$unit")
        case $(readlink "/proc/$process/exe") in
            /usr/lib/referral-tracker/*) ;;
            *) fail "$1: $service is not the installed program" ;;
        esac
        sed -n 's/^\(Uid\|CapEff\|CapBnd\|NoNewPrivs\|Seccomp\):[ \t]*\([^ \t]*\).*/\1 \2/p' "/proc/$process/status" > "$work/status"
        for expected in 'CapEff 0000000000000000' 'CapBnd 0000000000000000' 'NoNewPrivs 1' 'Seccomp 2'; do
            grep -qx "$expected" "$work/status" || fail "$1: $service runs without '$expected': $(cat "$work/status")"
        done
        if grep -qx 'Uid 0' "$work/status"; then
            fail "$1: $service runs as root"
        fi
        root=/proc/$process/root
        # In its namespace, as its own user.
        if nsenter --target "$process" --mount setpriv --reuid "$(stat --format %u "/proc/$process")" --clear-groups \
            sh -c 'echo > /usr/written || echo > /var/lib/written || cat '"$credentials"'/owner-database-url' > /dev/null 2>&1; then
            fail "$1: $service may write to the system, or read secrets of others"
        fi
        [ -z "$(ls "$root/home")" ] || fail "$1: $service sees /home"
    done
}

installed() {
    echo 'a file' > /home/file
    apt-get install --yes --quiet=2 -o Dpkg::Use-Pty=0 /packages/package.deb > "$work/apt" 2>&1 || fail "$(cat "$work/apt")"
    /usr/share/referral-tracker/make-secrets.sh $credentials
    as_postgres psql --quiet < $credentials/roles.sql
    collation=$(sql "SELECT datcollate, datcollversion FROM pg_database WHERE datname = 'referral_tracker'")
    [ "$collation" = 'C|' ] || fail "the order of texts depends on the C library: $collation"
    # All that an operator changes here: a disk of any size will do.
    sed -i 's/^STREAM_MAX_BYTES=.*/STREAM_MAX_BYTES=67108864/' /etc/referral-tracker/common.env
    cat > /etc/systemd/system/nats.service << 'UNIT'
[Service]
ExecStart=/usr/local/bin/nats-server --config /usr/share/referral-tracker/nats/single.conf
EnvironmentFile=/etc/referral-tracker/credentials/nats.env
Restart=always

[Install]
WantedBy=multi-user.target
UNIT
    mkdir -p /data
    systemctl enable --quiet --now nats.service
    systemctl start referral-tracker-migrate
    for service in $services; do
        systemctl enable --quiet --now "referral-tracker-$service.service"
    done
    ready 'installed'
    prepare_program
    confined 'installed'
    walk_to_a_sale 1
    expect 200 post refund '{"transaction_id":"order-1"}'
    expect 409 post sale '{"transaction_id":"order-1","amount_cents":4900,"customer_key":"user-1"}'
    ctl verify > /dev/null
    echo 'the package is installed, its four services run confined; click, lead, sale and refund are answered 200'
}

front() {
    sed -i 's/^DOMAIN=.*/DOMAIN=localhost/' /etc/referral-tracker/front.env
    ln --symbolic --force /usr/share/referral-tracker/Caddyfile /etc/caddy/Caddyfile
    systemctl restart caddy
    authority=/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt
    curl --silent --fail --retry 30 --retry-delay 1 --retry-all-errors --output /dev/null --cacert $authority https://localhost/readyz \
        2> /dev/null || fail 'the front does not lead to the ingest'
    # The ingest knows neither path.
    for path in /webhooks/stripe/1 /api/webhook-distributor/stripe; do
        status=$(curl --silent --cacert $authority --output /dev/null --write-out '%{http_code}' --data '{}' "https://localhost$path")
        [ "$status" = 400 ] || fail "$path at the front is answered $status"
    done
    [ "$(curl --silent --output /dev/null --write-out '%{redirect_url}' http://localhost/app)" = https://localhost/app ] \
        || fail 'the front does not redirect to https'
    echo 'the front leads to it with TLS'
}

# As deploy/README.md says, to the drill.
backed_up() {
    version=$(basename "$(find /usr/lib/postgresql -mindepth 1 -maxdepth 1 | sort --version-sort | tail -n 1)")
    install -o postgres -g postgres -m 0640 /usr/share/referral-tracker/backup/pgbackrest.conf /etc/pgbackrest.conf
    sed -i "s|^pg1-path=.*|pg1-path=/var/lib/postgresql/$version/main|" /etc/pgbackrest.conf
    as_postgres pgbackrest --stanza=referral-tracker stanza-create
    sed -n 's/^# *\(archive_.*\)/\1/p' /etc/pgbackrest.conf >> "/etc/postgresql/$version/main/postgresql.conf"
    systemctl restart "postgresql@$version-main"
    as_postgres pgbackrest --stanza=referral-tracker check
    as_postgres /usr/share/referral-tracker/backup/backup.sh full
    as_postgres env CTL=/usr/lib/referral-tracker/ctl PATH="/usr/lib/postgresql/$version/bin:$PATH" \
        /usr/share/referral-tracker/backup/drill.sh > "$work/drill" || fail "$(cat "$work/drill")"
    echo 'a backup is made, and the drill restores it'
}

# The front's two ports are for everybody.
beyond_loopback() {
    ss --no-header --listening --tcp --udp --numeric --processes \
        | awk '$5 !~ /^(127\.[0-9.]+(%lo)?|\[::1\]):[0-9]+$/' | grep -v '"caddy"'
}

closed() {
    # A server that listens on every address is seen by the same look.
    nats-server --port 14222 2> /dev/null &
    open=$!
    for _ in $(seq 60); do
        ! beyond_loopback | grep -q :14222 || break
        sleep 0.5
    done
    beyond_loopback | grep -q :14222 || fail 'a server that listens on every address goes unseen'
    kill $open
    wait $open || true
    if beyond_loopback > "$work/open"; then
        fail "these listen beyond loopback: $(cat "$work/open")"
    fi
    echo 'nothing but the front listens beyond loopback'
}

started_again() {
    ready 'started again'
    confined 'started again'
    is_stored order-1
    walk_to_a_sale started-again
    ctl verify > /dev/null
    echo 'after a start of the machine the services run by themselves, and the walk goes on'
}

if [ "$1" = inside ]; then
    work=/var/tmp/walk
    mkdir -p $work
    export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
    # shellcheck source-path=SCRIPTDIR source=walk.sh
    . /packages/walk.sh
    [ ! -e $work/demo ] || read_program
    "$2"
    exit
fi

directory=$1
here=$(dirname "$(readlink -f "$0")")
root=$directory/machine

stop_machine() {
    status=$?
    if [ -n "${nspawn:-}" ] && kill -0 "$nspawn" 2> /dev/null; then
        # A container's power button.
        kill -TERM "$nspawn"
        wait "$nspawn" || true
    fi
    rm -rf "$root"
    exit $status
}

first_process() {
    cat "/proc/$nspawn/task/$nspawn/children" 2> /dev/null || true
}

in_machine() {
    # shellcheck disable=SC2046
    nsenter --target $(first_process) --all -- "$@"
}

start_machine() {
    systemd-nspawn --quiet --boot --register=no --keep-unit --private-network --link-journal=no --console=pipe \
        --machine referral-tracker --directory "$root" < /dev/null > "$directory/machine.log" 2>&1 &
    nspawn=$!
    for _ in $(seq 120); do
        if in_machine systemctl is-system-running 2> /dev/null | grep -q -e running -e degraded; then
            return
        fi
        sleep 0.5
    done
    tail -n 20 "$directory/machine.log" >&2
    echo 'the machine does not start' >&2
    exit 1
}

start_machine_again() {
    in_machine systemctl reboot
    status=0
    wait "$nspawn" || status=$?
    if [ $status != 133 ]; then
        echo "the machine ended with $status, and not to start again" >&2
        exit 1
    fi
    start_machine
}

if ! [ -e "$directory/base/complete" ]; then
    rm -rf "$directory/base"
    "$here/debian-tree.sh" "$directory/base" systemd,systemd-sysv,dbus,postgresql,pgbackrest,redis-server,caddy,curl,iproute2 \
        > "$directory/debootstrap.log"
    touch "$directory/base/complete"
fi
rm -rf "$root"
trap stop_machine EXIT
trap 'exit 130' INT TERM
cp -a "$directory/base" "$root"
mkdir "$root/packages"
cp "$2" "$root/packages/package.deb"
install -m 0755 "$3" "$root/usr/local/bin/nats-server"
cp "$here/walk.sh" "$here/package.sh" "$root/packages/"
start_machine
for step in installed backed_up front closed; do
    in_machine sh /packages/package.sh inside $step
done
start_machine_again
in_machine sh /packages/package.sh inside started_again
