"""Checks deploy/grafana as far as that is possible without Grafana: dashboard.py GRAFANA OUT

- Each field of the dashboard is one that Grafana's own model has: read into that model and written again, nothing is lost.
- The dashboard's data source is the provisioned one, and dashboards are provisioned from one directory.
- OUT gets the expressions as recording rules, so that `promtool check rules` reads them.
"""

import json
import sys
from pathlib import Path

import yaml
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard


def differences(given, read, path):
    """What Grafana's model does not keep."""
    if isinstance(given, dict) and isinstance(read, dict):
        for key, value in given.items():
            if key in read:
                yield from differences(value, read[key], f"{path}.{key}")
            else:
                yield f"{path}.{key} is no field of Grafana's"
    elif isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        for number, pair in enumerate(zip(given, read)):
            yield from differences(*pair, f"{path}[{number}]")
    elif given != read:
        yield f"{path}: {given} is read as {read}"


def check_model(dashboard):
    plugins.register_default_plugins()
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
    found = list(differences(dashboard, read, "dashboard"))
    assert not found, "\n".join(found)


def check_provisioning(dashboard, provisioning):
    sources = yaml.safe_load((provisioning / "datasources/prometheus.yaml").read_text())["datasources"]
    provisioned = {(source["type"], source["uid"], source["name"]) for source in sources}
    for variable in dashboard["templating"]["list"]:
        current = variable["current"]
        chosen = (variable["query"], current["value"], current["text"])
        assert variable["type"] == "datasource" and chosen in provisioned, f"{chosen} is not one of {provisioned}"
    [provider] = yaml.safe_load((provisioning / "dashboards/referral-tracker.yaml").read_text())["providers"]
    assert provider["type"] == "file" and provider["options"]["path"] == "/var/lib/grafana/dashboards", provider


def expressions(dashboard):
    panels = dashboard["panels"]
    ids = [panel["id"] for panel in panels]
    assert len(ids) == len(set(ids)), "two panels have one id"
    targets = [target for panel in panels for target in panel.get("targets", [])]
    sources = {target["datasource"]["uid"] for target in targets}
    assert sources == {"${datasource}"}, sources
    assert len(targets) > 20, f"only {len(targets)} expressions"
    return [target["expr"] for target in targets]


def main(grafana, out):
    dashboard = json.loads((Path(grafana) / "dashboards/referral-tracker.json").read_text(encoding="utf-8"))
    check_model(dashboard)
    check_provisioning(dashboard, Path(grafana) / "provisioning")
    rules = [
        {"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "1m")}
        for number, expression in enumerate(expressions(dashboard))
    ]
    with open(out, "w", encoding="utf-8") as text:
        json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, text)


main(*sys.argv[1:])
