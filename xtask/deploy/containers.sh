#!/bin/sh
# Starts deploy/compose.yaml and tries it: healthy, the README's walk through the front, visitors told apart, every container killed under load,
# three workers, TLS, a graceful stop. Prints what it found.
#
#     containers.sh COMPOSE PROGRAMS [STEP...]    as root, with a Docker Engine on this machine
#
# COMPOSE is Docker Compose's program, PROGRAMS what the Dockerfile takes the programs from: an image, or its stage `build`. The project has its own
# name, ports and network, and is removed at the end.
set -eu

compose=$1
export PROGRAMS="$2"
shift 2
here=$(dirname "$(readlink -f "$0")")
root=$here/../..
work=$(mktemp -d)
export HTTP_PORT=18080 HTTPS_PORT=18443 PROMETHEUS_PORT=19090 EDGE=10.209.78 STREAM_MAX_BYTES=67108864
project=referral-tracker-check
base=http://127.0.0.1:$HTTP_PORT
services='ingest worker delivery webhook-consumer'
image=$(sed -n 's/^  image: \(referral-tracker:.*\)/\1/p' "$root/deploy/compose.yaml")
# shellcheck source-path=SCRIPTDIR source=walk.sh
. "$here/walk.sh"

compose() {
    "$compose" --project-name $project --file "$root/deploy/compose.yaml" "$@"
}

quietly() {
    "$@" > "$work/output" 2>&1 || {
        cat "$work/output" >&2
        fail "$*"
    }
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

clean_up() {
    status=$?
    if [ $status != 0 ]; then
        compose ps --all >&2 || true
        compose logs --tail 15 >&2 || true
    fi
    [ -z "${load:-}" ] || kill "$load" 2> /dev/null || true
    docker rm --force $project-busy $project-other > /dev/null 2>&1 || true
    compose --profile operator --profile observe down --volumes --timeout 1 > /dev/null 2>&1 || true
    rm -rf "$work"
    exit $status
}
trap clean_up EXIT
trap 'exit 130' INT TERM

container() {
    compose ps --all --quiet "$1" | head -n 1
}

state() {
    docker inspect --format "$2" "$1"
}

# $1: SQL of one value.
sql() {
    compose exec -T postgres psql --username tracker --dbname referral_tracker --tuples-only --no-align --command "$1"
}

ctl() {
    compose run --rm --no-TTY ctl "$@" 2> "$work/output" || {
        cat "$work/output" >&2
        fail "ctl $*"
    }
}

start() {
    quietly compose build
    started=$(date +%s)
    quietly compose up --detach --wait
    echo "healthy after $(($(date +%s) - started)) s"
}

walk() {
    prepare_program
    curl --fail --silent "$base/readyz" > /dev/null || fail 'the front does not lead to the ingest'
    walk_to_a_sale 1
    expect 200 post refund '{"transaction_id":"order-1"}'
    # The ingest knows no such path, and the consumer wants a signature.
    for path in /webhooks/stripe/1 /api/webhook-distributor/stripe; do
        status=$(curl --silent --output "$work/answer" --write-out '%{http_code}' --data '{}' "$base$path")
        [ "$status" = 400 ] || fail "$path was answered $status: $(cat "$work/answer")"
    done
    echo 'click, lead, sale and refund are answered 200 at the front, and unsigned webhooks 400'
}

# Prints the statuses of $2 clicks from container $1. Each claims to come from elsewhere.
visitor() {
    # shellcheck disable=SC2016
    docker exec --env CLICKS="$2" --env CODE="$DEMO_AFF_A" "$project-$1" bash -euc '
        body="{\"affiliate_url\":\"https://shop.example/?aff=$CODE\"}"
        for click in $(seq "$CLICKS"); do
            exec 3<> /dev/tcp/front/80
            printf "POST /api/v1/track/click HTTP/1.1\r\nHost: front\r\nX-Forwarded-For: 198.51.100.%s\r\nContent-Type: application/json\r\nContent-Length: %s\r\nConnection: close\r\n\r\n%s" \
                "$click" "${#body}" "$body" >&3
            read -r _ status _ <&3
            echo "$status"
            exec 3>&-
        done' | sort | uniq -c | tr -s ' \n' ' '
}

visitors() {
    # At the same time, so that each has an address of its own.
    for visitor in busy other; do
        docker run --detach --name $project-$visitor --network ${project}_outside "$image" sleep 300 > /dev/null
    done
    busy=$(visitor busy 75)
    case $busy in
        *' 429 '*) ;;
        *) fail "75 clicks of one visitor were answered:$busy" ;;
    esac
    other=$(visitor other 5)
    docker rm --force $project-busy $project-other > /dev/null
    [ "$other" = ' 5 200 ' ] || fail "5 clicks of another visitor were answered:$other"
    echo "75 clicks of one visitor are answered:$busy; 5 of another: 200"
}

confinement() {
    for service in $services; do
        id=$(container "$service")
        [ "$(docker exec "$id" id -u)" = 65532 ] || fail "$service runs as another user"
        [ "$(state "$id" '{{.HostConfig.ReadonlyRootfs}}')" = true ] || fail "$service may write to its root"
        if docker exec "$id" touch /usr/local/bin/written 2> /dev/null; then
            fail "$service writes to its root"
        fi
        [ "$(state "$id" '{{.HostConfig.Memory}}')" -gt 0 ] || fail "$service has no limit of memory"
    done
    if docker exec "$(container worker)" test -e /secrets/replica-database-url; then
        fail 'the worker has secrets of the ingest'
    fi
    # shellcheck disable=SC2046
    docker inspect $(compose ps --all --quiet) > "$work/inspect"
    docker run --rm --user 0 --volume ${project}_keys:/keys:ro --entrypoint bash "$image" -euc \
        'for file in /keys/*password* /keys/*-key /keys/*-keys; do cat "$file"; echo; done' > "$work/secrets"
    [ "$(wc -l < "$work/secrets")" -ge 11 ] || fail 'too few secrets were made'
    if grep --fixed-strings --file "$work/secrets" "$work/inspect" > /dev/null; then
        fail 'docker inspect shows a secret'
    fi
    echo 'services run as 65532 with a read-only root and limits; docker inspect shows no secret'
}

wait_until_healthy() {
    for _ in $(seq 120); do
        if [ "$(state "$1" '{{.State.Running}} {{.State.Health.Status}}')" = 'true healthy' ] && [ "$(state "$1" '{{.State.Pid}}')" != "$2" ]; then
            return
        fi
        sleep 0.5
    done
    fail "$3 does not come back"
}

killed_under_load() {
    start_load
    for service in ingest worker webhook-consumer delivery redis nats postgres front; do
        id=$(container $service)
        pid=$(state "$id" '{{.State.Pid}}')
        before=$(answered)
        # As a crash: after `docker kill` the engine restarts nothing.
        kill -KILL "$pid"
        wait_until_healthy "$id" "$pid" $service
        more_are_answered "$before" "$service was killed"
    done
    stop_load
    ctl verify > /dev/null
    echo "eight containers killed in turn: $(answered) sales answered, each stored once; ctl verify finds nothing wrong"
}

three_workers() {
    # shellcheck disable=SC2086
    compose ps --quiet front $services postgres nats redis | sort > "$work/before"
    export WORKERS=3
    quietly compose up --detach --wait
    quietly compose --profile observe up --detach --no-deps prometheus
    compose ps --quiet | sort > "$work/after"
    [ "$(comm -23 "$work/before" "$work/after" | wc -l)" = 0 ] || fail 'containers that nothing changed were made again'
    for _ in $(seq 60); do
        series=$(curl --silent --get "http://127.0.0.1:$PROMETHEUS_PORT/api/v1/query" --data-urlencode 'query=count by (service) (up == 1)' || true)
        case $series in
            *'"service":"worker"},"value":['*',"3"]'*)
                echo 'three workers are healthy, nothing else was made again, and Prometheus has a series of each'
                return
                ;;
        esac
        sleep 1
    done
    fail "Prometheus sees $series"
}

tls() {
    export DOMAIN=localhost
    quietly compose up --detach --wait
    for _ in $(seq 40); do
        docker cp "$(container front):/data/caddy/pki/authorities/local/root.crt" "$work/root.crt" > /dev/null 2>&1 && break
        sleep 0.5
    done
    # `-4`: it is published on 127.0.0.1.
    status=$(curl -4 --silent --cacert "$work/root.crt" --retry 5 --retry-connrefused --output /dev/null --write-out '%{http_code}' \
        "https://localhost:$HTTPS_PORT/readyz") || fail 'no TLS'
    [ "$status" = 200 ] || fail "https answers $status"
    status=$(curl -4 --silent --output /dev/null --write-out '%{http_code} %{redirect_url}' "http://localhost:$HTTP_PORT/app")
    [ "$status" = "308 https://localhost:$HTTPS_PORT/app" ] || fail "http answers $status"
    unset DOMAIN
    echo 'with DOMAIN, the front gets a certificate and redirects to https'
}

# $1: a script, with the volume of all keys and what each service has of them.
with_keys() {
    quietly compose run --rm --no-TTY --entrypoint bash secrets -euc "$1"
    cat "$work/output"
}

lost_keys() {
    sums='cat /keys/*-key* /keys/postgres-password | sha256sum'
    before=$(with_keys "$sums; rm /keys/*" | tail -n 1)
    if compose up --detach --wait > /dev/null 2>&1; then
        fail 'without keys others are generated'
    fi
    # What it says.
    with_keys 'cp --no-clobber /to/ctl/*-key* /to/postgres/* /keys/' > /dev/null
    quietly compose up --detach --wait --force-recreate
    [ "$(with_keys "$sums" | tail -n 1)" = "$before" ] || fail 'the keys are others'
    walk_to_a_sale keys
    echo 'without its keys nothing is generated; the copies of the services bring them back'
}

in_postgres() {
    compose exec -T postgres "$@"
}

dumped() {
    export BACKUPS="$work/backups"
    quietly compose run --rm --no-TTY dump
    in_postgres createdb --username tracker restored
    cat "$BACKUPS"/*.dump | in_postgres pg_restore --exit-on-error --no-owner --username tracker --dbname restored
    count='SELECT count(*) FROM sale_events'
    restored=$(in_postgres psql --username tracker --dbname restored --tuples-only --no-align --command "$count")
    [ "$restored" = "$(sql "$count")" ] || fail "the dump has $restored sales"
    in_postgres dropdb --username tracker restored
    echo 'a dump is restored beside the database it was made of'
}

stop() {
    ids=$(for service in $services; do compose ps --quiet "$service"; done)
    quietly compose stop
    for id in $ids; do
        state "$id" '{{.Name}} {{.State.ExitCode}} {{.State.OOMKilled}}'
    done > "$work/ends"
    if grep -v ' 0 false$' "$work/ends"; then
        fail 'a service did not end by itself'
    fi
    quietly compose up --detach --wait
    is_stored order-1
    echo "$(wc -l < "$work/ends") services exit with 0 when they are stopped, and find their data again"
}

if [ $# = 0 ]; then
    set -- visitors confinement killed_under_load three_workers tls lost_keys dumped stop
fi
# A wrapper may hide how it ends, and then nothing here would fail.
if compose config --no-such-flag > /dev/null 2>&1; then
    fail "$compose does not pass on how Docker Compose ends: name the program itself"
fi
start
walk
for step in "$@"; do
    $step
done
