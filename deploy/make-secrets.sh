#!/bin/sh
# Makes the secrets of an installation, a file each, in the directory that is named:
#
#     deploy/make-secrets.sh DIRECTORY [POSTGRES [REPLICA [NATS]]]
#
# POSTGRES and REPLICA are hosts, NATS hosts separated by commas. With POSTGRES_CA_FILE in the environment, connections to
# PostgreSQL are encrypted, and its certificate must be vouched for by that file, which is read where the services run.
# What is there already stays as it is: click ids, hashes and sealed secrets can only be read with the keys that made them. Keep
# a copy of the directory where the backups are not.
set -eu
umask 077

directory=${1:?usage: make-secrets.sh DIRECTORY [POSTGRES [REPLICA [NATS]]]}
postgres=${2:-127.0.0.1}
replica=${3:-$postgres}
nats=${4:-127.0.0.1}
mkdir -p "$directory"
cd "$directory"

# $1: file; its text comes from standard input. Whole or not at all.
keep() {
    if [ -s "$1" ]; then
        cat > /dev/null
    else
        cat > "$1.new"
        mv "$1.new" "$1"
    fi
}

random_hex() {
    od -An -vtx1 -N"$1" /dev/urandom | tr -d ' \n'
}

for key in click-id-keys email-hash-key secrets-keys; do
    random_hex 32 | keep "$key"
done
# NATS reads its configuration's variables as it reads values: digits first, and it would be a number.
for password in postgres-password nats-password-ingest nats-password-webhook-consumer nats-password-worker nats-password-ctl; do
    { printf p; random_hex 24; } | keep "$password"
done

tls=${POSTGRES_CA_FILE:+?sslmode=verify-full&sslrootcert=$POSTGRES_CA_FILE}
postgres_password=$(cat postgres-password)
printf tracker | keep postgres-user
printf 'postgres://tracker:%s@%s:5432/referral_tracker%s' "$postgres_password" "$postgres" "$tls" | keep database-url
printf 'postgres://tracker:%s@%s:5432/referral_tracker%s' "$postgres_password" "$replica" "$tls" | keep replica-database-url
# Each service is a user of NATS.
for user in ingest webhook-consumer worker ctl; do
    password=$(cat "nats-password-$user")
    printf %s "$nats" | tr ',' '\n' | sed "s|.*|nats://$user:$password@&:4222|" | paste -sd, - | tr -d '\n' | keep "nats-url-$user"
    printf 'NATS_%s_PASSWORD=%s\n' "$(printf %s "$user" | tr 'a-z-' 'A-Z_')" "$password"
done | keep nats.env
