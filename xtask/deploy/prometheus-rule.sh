#!/bin/sh
# Writes deploy/prometheus/alerts.yaml as a resource of the Prometheus operator, below the head that the resource's file has.
set -eu

deploy=$(dirname "$(readlink -f "$0")")/../../deploy
rule=$deploy/kubernetes/overlays/production/alerts.yaml
{
    sed '/^spec:/q' "$rule"
    sed -n '/^groups:/,$ s/^/  /p' "$deploy/prometheus/alerts.yaml"
} > "$rule.new"
mv "$rule.new" "$rule"
