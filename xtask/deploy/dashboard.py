"""Writes the dashboard's expressions as recording rules, so that `promtool check rules` reads them: expressions.py DASHBOARD OUT"""

import json
import sys


def main(dashboard, out):
    with open(dashboard, encoding="utf-8") as text:
        panels = json.load(text)["panels"]
    ids = [panel["id"] for panel in panels]
    assert len(ids) == len(set(ids)), "two panels have one id"
    expressions = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    assert len(expressions) > 20, f"only {len(expressions)} expressions"
    rules = [
        {"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "1m")}
        for number, expression in enumerate(expressions)
    ]
    with open(out, "w", encoding="utf-8") as text:
        json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, text)


main(*sys.argv[1:])
