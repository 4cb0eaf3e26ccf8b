#!/bin/sh
# Generates the secrets of an installation, one file each, in a directory:
#
#     deploy/make-secrets.sh DIRECTORY [POSTGRES [REPLICA [NATS [REDIS]]]]
#
# POSTGRES, REPLICA and REDIS are hosts, NATS hosts separated by commas. Two settings in the environment turn on TLS; both are paths as the
# services see them:
#     POSTGRES_CA_FILE  the CA certificate of PostgreSQL, whose own certificate is not made here
#     SERVERS_CA_FILE   the CA certificate of NATS and Redis. It is generated (servers-ca.crt), with their certificates, for ten years:
#                       to make new ones, delete nats.crt, nats.key, redis.crt and redis.key, and run this again
# Existing files are kept: click ids, hashes and sealed secrets can only be read with the keys that made them. Keep a copy of the
# directory, separate from the backups.
set -eu
umask 077

directory=${1:?usage: make-secrets.sh DIRECTORY [POSTGRES [REPLICA [NATS [REDIS]]]]}
postgres=${2:-127.0.0.1}
replica=${3:-$postgres}
nats=${4:-127.0.0.1}
redis=${5:-127.0.0.1}
mkdir -p "$directory"
cd "$directory"

# $1: file; its text comes from standard input. Atomic.
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
# NATS parses variables like values: a password that begins with a digit would be a number.
for password in postgres-password postgres-service-password postgres-reads-password redis-password \
    nats-password-ingest nats-password-webhook-consumer nats-password-worker nats-password-ctl; do
    { printf p; random_hex 24; } | keep "$password"
done

# PostgreSQL: the owner of the tables, the services' role, and the read-only role.
tls=${POSTGRES_CA_FILE:+?sslmode=verify-full&sslrootcert=$POSTGRES_CA_FILE}
address() {
    printf 'postgres://%s:%s@%s:5432/referral_tracker%s' "$1" "$(cat "$2")" "$3" "$tls"
}
printf tracker | keep postgres-user
printf referral_tracker_service | keep postgres-service-user
printf referral_tracker_reads | keep postgres-reads-user
address tracker postgres-password "$postgres" | keep owner-database-url
address referral_tracker_service postgres-service-password "$postgres" | keep database-url
address referral_tracker_reads postgres-reads-password "$replica" | keep replica-database-url
# Creates the roles and the database on a plain PostgreSQL: run it with `psql` as superuser.
{
    for role in '' -service -reads; do
        printf "CREATE ROLE %s LOGIN PASSWORD '%s';\n" "$(cat "postgres$role-user")" "$(cat "postgres$role-password")"
    done
    # Text in an order that no C library changes, whatever the server's own locale.
    printf "CREATE DATABASE referral_tracker OWNER tracker TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc LOCALE 'C';\n"
} | keep roles.sql

# Each service is a user of NATS.
scheme=nats
if [ -n "${SERVERS_CA_FILE:-}" ]; then
    scheme=tls
fi
for user in ingest webhook-consumer worker ctl; do
    password=$(cat "nats-password-$user")
    printf %s "$nats" | tr ',' '\n' | sed "s|.*|$scheme://$user:$password@&:4222|" | paste -sd, - | tr -d '\n' | keep "nats-url-$user"
    printf 'NATS_%s_PASSWORD=%s\n' "$(printf %s "$user" | tr 'a-z-' 'A-Z_')" "$password"
done | keep nats.env

printf 'requirepass %s\n' "$(cat redis-password)" | keep redis.conf
printf 'redis%s://:%s@%s:6379/0' "${SERVERS_CA_FILE:+s}" "$(cat redis-password)" "$redis" | keep redis-url

# $1: the subject; the other arguments: purpose and signer. Ignores the machine's OpenSSL settings, which could add extensions.
sign() {
    name=$1
    shift
    printf '[req]\ndistinguished_name=name\n[name]\n' > openssl.cnf
    openssl req -config openssl.cnf -x509 -days 3650 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -keyout "$name.key" -out "$name.crt" -subj "/CN=referral-tracker $name" "$@" 2> openssl.log || {
        cat openssl.log >&2
        exit 1
    }
    rm openssl.cnf openssl.log
}

# $1: the server; the other arguments: its hosts. NATS servers also authenticate each other with it.
certificate() {
    server=$1
    shift
    if [ -s "$server.crt" ] && [ -s "$server.key" ]; then
        return
    fi
    names=
    for host in "$@"; do
        case $host in
            *[!0-9.]*) names=$names,DNS:$host ;;
            *) names=$names,IP:$host ;;
        esac
    done
    sign "$server" -CA servers-ca.crt -CAkey servers-ca.key \
        -addext basicConstraints=critical,CA:FALSE -addext "subjectAltName=${names#,}"
}

if [ -n "${SERVERS_CA_FILE:-}" ]; then
    if ! [ -s servers-ca.crt ]; then
        sign servers-ca -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
    fi
    # shellcheck disable=SC2046
    certificate nats $(printf %s "$nats" | tr ',' ' ')
    certificate redis "$redis"
fi
