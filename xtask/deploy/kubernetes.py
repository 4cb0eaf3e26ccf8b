"""Checks rendered manifests: against Kubernetes' own schemas, strictly, and against what every workload of ours must have.

    kubernetes.py OUT RENDERED.yaml...

Custom resources have other schemas: they are written to OUT as JSON, for custom-resources.mjs. Prints what is wrong, a line each, and
fails if anything is.
"""

import json
import re
import sys
from pathlib import Path

import kubernetes_validate
import yaml

# The oldest the manifests are for (`lifecycle.preStop.sleep` is on by default there), and the newest that is known.
VERSIONS = ("1.30.0", "1.37.0")
WORKLOADS = ("Deployment", "StatefulSet", "Job")
ALERTS = Path(__file__).resolve().parent.parent.parent / "deploy/prometheus/alerts.yaml"


def main(out, rendered):
    wrong, custom = [], []
    for file in rendered:
        with open(file, encoding="utf-8") as text:
            resources = [resource for resource in yaml.safe_load_all(text) if resource]
        if len(resources) < 10:
            wrong.append(f"{file}: only {len(resources)} resources")
        for resource in resources:
            name = f"{file}: {resource['kind']} {resource['metadata']['name']}"
            if is_custom(resource):
                custom.append({"name": name, "resource": resource})
            else:
                wrong += [f"{name}: {problem}" for problem in against_schemas(resource)]
            if resource["kind"] in WORKLOADS:
                wrong += [f"{name}: {problem}" for problem in of_workload(resource)]
            if resource["kind"] == "Cluster":
                wrong += [f"{name}: {problem}" for problem in of_cluster(resource["spec"])]
            if resource["kind"] == "PrometheusRule" and resource["spec"] != yaml.safe_load(ALERTS.read_text()):
                wrong.append(f"{name}: is not {ALERTS}; run xtask/deploy/prometheus-rule.sh")
        wrong += [f"{file}: {problem}" for problem in selectors_without_pods(resources)]
    with open(out, "w", encoding="utf-8") as text:
        json.dump(custom, text)
    print("\n".join(wrong))
    return 1 if wrong else 0


def is_custom(resource):
    group = resource["apiVersion"].rpartition("/")[0]
    return "." in group and (not group.endswith(".k8s.io") or group.startswith("gateway."))


def against_schemas(resource):
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(resource, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            place = ".".join(str(step) for step in error.path)
            yield f"{version}: {place}: {error.message}"


def of_workload(resource):
    pod = resource["spec"]["template"]["spec"]
    if pod.get("automountServiceAccountToken") is not False:
        yield "has the token of a service account"
    if not pod.get("securityContext", {}).get("runAsNonRoot"):
        yield "may run as root"
    for container in pod["containers"] + pod.get("initContainers", []):
        name = container["name"]
        locked = container.get("securityContext", {})
        if locked.get("allowPrivilegeEscalation") is not False:
            yield f"{name} may gain privileges"
        if not locked.get("readOnlyRootFilesystem"):
            yield f"{name} may write to its root"
        if locked.get("capabilities", {}).get("drop") != ["ALL"]:
            yield f"{name} keeps capabilities"
        resources = container.get("resources", {})
        if not {"cpu", "memory"} <= resources.get("requests", {}).keys():
            yield f"{name} does not say what it needs"
        if "memory" not in resources.get("limits", {}):
            yield f"{name} has no bound on its memory"
        if ":" not in container["image"].rpartition("/")[2] or container["image"].endswith(":latest"):
            yield f"{name} runs any version of {container['image']}"
        if resource["kind"] == "Job" or pod.get("terminationGracePeriodSeconds") == 1:
            continue
        for probe in ("livenessProbe", "readinessProbe"):
            if probe not in container:
                yield f"{name} has no {probe}"


def size(text):
    """In MiB: of Kubernetes (`5Gi`) or of PostgreSQL (`8GB`), which also counts by 1024."""
    number, unit = re.fullmatch(r"(\d+)([MG])[iB]B?", text).groups()
    return int(number) * {"M": 1, "G": 1024}[unit]


def of_cluster(spec):
    parameters = spec["postgresql"]["parameters"]
    memory = size(spec["resources"]["limits"]["memory"])
    # Three autovacuum workers, and one index that is made.
    needed = size(parameters["shared_buffers"]) + size(parameters["maintenance_work_mem"])
    needed += 3 * size(parameters["autovacuum_work_mem"])
    if needed > memory * 5 / 8:
        yield f"buffers and vacuum may take {needed} of {memory} MiB, and connections need some"
    if size(parameters["effective_cache_size"]) > memory:
        yield "effective_cache_size is more than its memory"
    # The log may grow beyond it.
    if 2 * size(parameters["max_wal_size"]) > size(spec["walStorage"]["size"]):
        yield "max_wal_size is more than half of walStorage"


def selectors_without_pods(resources):
    """Services, budgets and policies that select nothing are typing errors."""
    pods = [
        resource["spec"]["template"]["metadata"]["labels"]
        for resource in resources
        if resource["kind"] in WORKLOADS
    ]
    # CloudNativePG labels the pods it makes.
    pods += [{"cnpg.io/cluster": r["metadata"]["name"]} for r in resources if r["kind"] == "Cluster"]
    for resource in resources:
        spec, name = resource.get("spec", {}), f"{resource['kind']} {resource['metadata']['name']}"
        if resource["kind"] == "Service":
            wanted = [spec["selector"]]
        elif resource["kind"] == "PodDisruptionBudget":
            wanted = [spec["selector"]["matchLabels"]]
        elif resource["kind"] == "NetworkPolicy":
            wanted = [spec["podSelector"].get("matchLabels", {})]
            peers = [peer for rule in spec.get("ingress", []) for peer in rule.get("from", [])]
            peers += [peer for rule in spec.get("egress", []) for peer in rule.get("to", [])]
            wanted += [
                peer["podSelector"]["matchLabels"]
                for peer in peers
                if "podSelector" in peer and "namespaceSelector" not in peer
            ]
        else:
            continue
        for labels in wanted:
            if not any(labels.items() <= pod.items() for pod in pods):
                yield f"{name} selects no pod: {labels}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
