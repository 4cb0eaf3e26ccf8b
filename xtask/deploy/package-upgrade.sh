#!/bin/sh
# Installs the Debian package of the release before in a container with systemd as its first process and Debian's servers, walks through it, upgrades
# under load as docs/upgrade.md says, starts the machine again, and goes back and forth. Units run as systemd runs them, confined. Prints what it found.
#
#     package-upgrade.sh DIRECTORY BEFORE AFTER NATS-SERVER     as root, with debootstrap and systemd-nspawn
#
# BEFORE and AFTER are packages. DIRECTORY keeps Debian's files, `base`, for the next time; the container has a network of its own.
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

# $1: SQL of one value.
sql() {
    runuser -u postgres -- psql --dbname referral_tracker --tuples-only --no-align --command "$1"
}

units() {
    for service in "$@"; do
        printf 'referral-tracker-%s.service ' "$service"
    done
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
            *deleted*) fail "$1: $service is still the program that was replaced" ;;
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

install_before() {
    echo 'of somebody' > /home/file
    apt-get install --yes --quiet=2 -o Dpkg::Use-Pty=0 /packages/before.deb > "$work/apt" 2>&1 || fail "$(cat "$work/apt")"
    /usr/share/referral-tracker/make-secrets.sh $credentials
    runuser -u postgres -- psql --quiet < $credentials/roles.sql
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
    # shellcheck disable=SC2046,SC2086
    systemctl enable --quiet --now $(units $services)
    ready 'installed'
    prepare_program
    confined 'installed'
    walk_to_a_sale 1
    echo 'the release before is installed, its four services run confined; click, lead and sale are answered 200'
}

# As docs/upgrade.md says.
upgrade() {
    apt-get install --yes --quiet=2 -o Dpkg::Use-Pty=0 /packages/after.deb > "$work/apt" 2>&1 || fail "$(cat "$work/apt")"
    systemctl start referral-tracker-migrate
    systemctl restart referral-tracker-worker
    # shellcheck disable=SC2046
    systemctl restart $(units delivery ingest webhook-consumer)
    ready 'upgraded'
    confined 'upgraded'
    more_are_answered "$(answered)" 'the upgrade'
}

verify() {
    ctl rollups rebuild > /dev/null
    ctl verify > /dev/null
    ctl dead-letters list > "$work/dead-letters"
}

upgraded() {
    start_load
    upgrade
    walk_to_a_sale upgraded
    expect 200 post refund '{"transaction_id":"order-1"}'
    expect 409 post sale '{"transaction_id":"order-1","amount_cents":4900,"customer_key":"user-1"}'
    stop_load
    verify
    echo "upgraded under load: $(answered) sales answered, each stored once; the walk goes on, ctl verify finds nothing wrong"
    ln --symbolic --force /usr/share/referral-tracker/Caddyfile /etc/caddy/Caddyfile
    systemctl restart caddy
    authority=/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt
    curl --silent --fail --retry 30 --retry-delay 1 --retry-all-errors --output /dev/null --cacert $authority https://localhost/readyz \
        2> /dev/null || fail 'the front does not lead to the ingest'
    echo 'the front leads to it with TLS'
}

started_again() {
    ready 'started again'
    confined 'started again'
    is_stored order-1
    walk_to_a_sale started-again
    ctl verify > /dev/null
    echo 'after a start of the machine the services run by themselves, and the walk goes on'
}

back_and_forth() {
    start_load
    # The earlier `ctl verify` does not know what newer services have written.
    cp /usr/lib/referral-tracker/ctl /usr/local/bin/newer-ctl
    apt-get install --yes --quiet=2 -o Dpkg::Use-Pty=0 --allow-downgrades /packages/before.deb > "$work/apt" 2>&1 || fail "$(cat "$work/apt")"
    # shellcheck disable=SC2046
    systemctl restart $(units webhook-consumer ingest delivery)
    systemctl restart referral-tracker-worker
    ready 'back'
    confined 'back'
    more_are_answered "$(answered)" 'the way back'
    walk_to_a_sale back
    upgrade
    walk_to_a_sale again
    stop_load
    verify
    echo "back to the release before and forth again under load: $(answered) sales answered, each stored once; ctl verify finds nothing wrong"
}

if [ "$1" = inside ]; then
    work=/var/tmp/walk
    mkdir -p $work
    export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
    # shellcheck source-path=SCRIPTDIR source=walk.sh
    . /packages/walk.sh
    trap 'rm -f $work/load' EXIT
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
    "$here/debian-tree.sh" "$directory/base" systemd,systemd-sysv,dbus,postgresql,redis-server,caddy,curl,iproute2 \
        > "$directory/debootstrap.log"
    touch "$directory/base/complete"
fi
rm -rf "$root"
trap stop_machine EXIT
trap 'exit 130' INT TERM
cp -a "$directory/base" "$root"
mkdir "$root/packages"
cp "$2" "$root/packages/before.deb"
cp "$3" "$root/packages/after.deb"
install -m 0755 "$4" "$root/usr/local/bin/nats-server"
cp "$here/walk.sh" "$here/package-upgrade.sh" "$root/packages/"
start_machine
for step in install_before upgraded; do
    in_machine sh /packages/package-upgrade.sh inside $step
done
start_machine_again
for step in started_again back_and_forth; do
    in_machine sh /packages/package-upgrade.sh inside $step
done
