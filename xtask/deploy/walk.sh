#!/bin/sh
# The README's walk and a load of sales, for the scripts beside this one, which read this file. They have set `base`, the address of the service,
# and `work`, a directory; and they have `fail MESSAGE`, `ctl ARGUMENT...` and `sql STATEMENT`, which prints one value.
# shellcheck disable=SC2154

# $1: noun; $2: body. Prints the answer and, on a line of its own, its status.
post() {
    curl --silent --show-error --max-time 20 --write-out '\n%{http_code}' "$base/api/v1/track/$1" \
        --header 'Content-Type: application/json' --header "Authorization: Bearer $DEMO_API_KEY" --data "$2"
}

expect() {
    wanted=$1
    shift
    answer=$("$@")
    case $answer in
        *"
$wanted") ;;
        *) fail "$* was answered $answer, not $wanted" ;;
    esac
}

# The first user and the demo program.
prepare_program() {
    ctl user create --email olive@shop.example --name Olive --workspace Shop --generate-password > /dev/null
    ctl seed-demo > "$work/demo"
    read_program
}

read_program() {
    # shellcheck source=/dev/null
    . "$work/demo"
}

# $1: what tells this customer and this sale from earlier ones.
walk_to_a_sale() {
    expect 200 post click "{\"affiliate_url\":\"https://shop.example/?aff=$DEMO_AFF_A\"}"
    click_id=$(printf %s "$answer" | sed -n 's/.*"click_id" *: *"\([^"]*\)".*/\1/p')
    expect 200 post lead "{\"click_id\":\"$click_id\",\"customer_key\":\"user-$1\"}"
    expect 200 post sale "{\"transaction_id\":\"order-$1\",\"amount_cents\":4900,\"customer_key\":\"user-$1\"}"
    is_stored "order-$1"
}

is_stored() {
    [ "$(sql "SELECT count(*) FROM sale_events WHERE processor_event_id = '$1'")" = 1 ] || fail "the sale $1 is not in the table once"
}

# Sales, one after the other, each until it is answered 200 or 409: then it is recorded.
load() {
    number=0
    while [ -e "$work/load" ]; do
        number=$((number + 1))
        until post sale "{\"transaction_id\":\"load-$round-$number\",\"amount_cents\":100,\"customer_key\":\"user-1\"}" 2> /dev/null \
            | tail -n 1 | grep -q -e 200 -e 409; do
            sleep 0.3
        done
        echo "$number" >> "$work/answered"
    done
}

start_load() {
    round=$((${round:-0} + 1))
    touch "$work/load"
    : > "$work/answered"
    load &
    load=$!
}

answered() {
    wc -l < "$work/answered"
}

# $1: since how many of them; $2: what has happened since.
more_are_answered() {
    for _ in $(seq 200); do
        if [ "$(answered)" -gt $(($1 + 3)) ]; then
            return
        fi
        sleep 0.3
    done
    fail "no sale is answered since $2"
}

# Each sale that was answered is stored once.
stop_load() {
    rm "$work/load"
    wait "$load"
    load=
    stored=$(sql "SELECT count(DISTINCT processor_event_id) || ' ' || count(*) FROM sale_events WHERE processor_event_id LIKE 'load-$round-%'")
    [ "$stored" = "$(answered) $(answered)" ] || fail "$(answered) sales were answered, and stored are $stored"
}
