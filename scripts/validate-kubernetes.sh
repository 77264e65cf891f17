#!/usr/bin/env bash
# Validates the manifests of docs/fleet/kubernetes against published schemas: those of Kubernetes, which the Python package
# kubernetes-validate has (pip fetches it), and for the rule of Node Feature Discovery those of its custom resources. These
# are no part of a package: NFD_CRDS names the file deployment/base/nfd-crds/nfd-api-crds.yaml of its repository. Without it the
# rule is not validated, which is said. Node-problem-detector publishes no schema. Its file is held against what its source reads.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly release=1.37.0
readonly versions=(1.33 1.34 1.35 1.36 1.37)
readonly folder=docs/fleet/kubernetes

packages=${CARGO_TARGET_DIR:-target}/kubernetes-validate-$release
if [[ ! -d $packages ]]; then
    mkdir -p "$(dirname "$packages")"
    new=$(mktemp --directory "$packages.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$new" \
        "kubernetes-validate==$release"
    mv "$new" "$packages"
fi
export PYTHONPATH=$packages

for version in "${versions[@]}"; do
    python3 -m kubernetes_validate --strict --quiet --kubernetes-version "$version" "$folder/job.yaml" "$folder/features.yaml"
done
echo "job.yaml, features.yaml: valid for Kubernetes ${versions[*]} (kubernetes-validate $release, strict)"

python3 - "$folder" "${NFD_CRDS:-}" <<'END'
import json
import re
import sys

import jsonschema
import yaml

folder, crds = sys.argv[1:]


def fail(message):
    sys.exit(f"error: {message}")


def closed(schema):
    """The same schema without keys that it does not name, as an API server with strict validation has it."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        schema.setdefault("additionalProperties", False)
    return schema


rule = yaml.safe_load(open(f"{folder}/node-feature-rule.yaml"))
if crds:
    for crd in yaml.safe_load_all(open(crds)):
        if crd["spec"]["names"]["kind"] == rule["kind"]:
            break
    else:
        fail(f"{crds} has no {rule['kind']}")
    group, version = rule["apiVersion"].split("/")
    schema = next(one["schema"]["openAPIV3Schema"] for one in crd["spec"]["versions"] if one["name"] == version)
    if crd["spec"]["group"] != group:
        fail(f"{crds} has the group {crd['spec']['group']}")
    jsonschema.validate(rule["spec"], closed(schema)["properties"]["spec"])
    print("node-feature-rule.yaml: valid for the custom resources given")
else:
    print("node-feature-rule.yaml: NOT validated, since NFD_CRDS names no file")

# The keys that node-problem-detector reads, and what it demands of them.
config = json.load(open(f"{folder}/node-problem-detector.json"))
known = {
    "": "plugin pluginConfig source conditions rules metricsReporting",
    "pluginConfig": "invoke_interval timeout max_output_length concurrency enable_message_change_based_condition_update "
    "skip_initial_status",
    "conditions": "type reason message",
    "rules": "type condition reason path args timeout invoke_interval",
}
for place, names in known.items():
    of_place = config if place == "" else config[place]
    for one in of_place if isinstance(of_place, list) else [of_place]:
        if unknown := set(one) - set(names.split()):
            fail(f"node-problem-detector.json: {place} has unknown keys: {unknown}")


def seconds(duration):
    parts = re.fullmatch(r"(\d+)(s|m|h)", duration) or fail(f"node-problem-detector.json: {duration} is no duration")
    return int(parts[1]) * {"s": 1, "m": 60, "h": 3600}[parts[2]]


if config["plugin"] != "custom":
    fail("node-problem-detector.json: the plugin is not custom")
most = seconds(config["pluginConfig"]["timeout"])
if most >= seconds(config["pluginConfig"]["invoke_interval"]):
    fail("node-problem-detector.json: a check may take longer than the interval")
for rule in config["rules"]:
    if seconds(rule["timeout"]) > most:
        fail("node-problem-detector.json: a rule may take longer than the plugin")
    if rule["type"] not in ("permanent", "temporary"):
        fail(f"node-problem-detector.json: {rule['type']} is no type of a rule")
    if rule["type"] == "permanent" and rule["condition"] not in [one["type"] for one in config["conditions"]]:
        fail("node-problem-detector.json: a rule has no condition")
    own = int(rule["args"][rule["args"].index("--timeout") + 1])
    if own >= seconds(rule["timeout"]):
        fail("node-problem-detector.json: strata may take longer than the rule")
print("node-problem-detector.json: has the keys and limits that node-problem-detector reads")
END
