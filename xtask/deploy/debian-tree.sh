#!/bin/sh
# Makes a tree of Debian 12's files, with packages, from the mirror of this machine.
#
#     debian-tree.sh DIRECTORY PACKAGE[,PACKAGE...]     as root, with debootstrap
set -eu

mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null | head -n 1)
exec debootstrap --variant=minbase --include="$2" bookworm "$1" "$mirror"
