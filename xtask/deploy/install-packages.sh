#!/bin/sh
# Installs Debian packages as root, without starting their services: `cargo xtask` runs it.
#
#     install-packages.sh PACKAGE...
#
# Packages of servers start a server, create a database cluster and enable both at boot; only their programs are wanted. While apt runs, a policy
# forbids starting services and creating a cluster. Both settings are removed afterwards; an existing policy is kept.
set -eu
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
cluster=/etc/postgresql-common/createcluster.d/no-main-cluster.conf

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]
}

added=
for package in "$@"; do
    is_installed "$package" || added="$added $package"
done
[ -e $policy ] && keeps_policy=yes || keeps_policy=
[ -e $cluster ] && keeps_cluster=yes || keeps_cluster=
clean_up() {
    [ -n "$keeps_policy" ] || rm -f $policy
    [ -n "$keeps_cluster" ] || rm -f $cluster
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
if [ -z "$keeps_policy" ]; then
    printf '#!/bin/sh\n# Present while packages are installed: no service may start.\nexit 101\n' > $policy
    chmod 755 $policy
fi
if [ -z "$keeps_cluster" ]; then
    mkdir -p "$(dirname $cluster)"
    echo 'create_main_cluster = false' > $cluster
fi

# Waits for another package manager.
apt_get() {
    apt-get --quiet=2 -o DPkg::Lock::Timeout=120 "$@"
}
apt_get update
apt_get --yes --no-install-recommends install "$@"

# Stopping fails if it does not run.
for service in $added; do
    case $service in
        postgresql | redis-server)
            [ -z "$keeps_policy" ] || service "$service" stop > /dev/null 2>&1 || true
            update-rc.d "$service" disable > /dev/null 2>&1 || true
            ;;
    esac
done
