//! Compose files: what the services get of this machine.

use super::Mount;
use serde_json::Value;

/// Keys of a service that give it nothing of the host; anything else counts as reaching it.
const HARMLESS: [&str; 52] = [
    "annotations",
    "attach",
    "build",
    "cap_drop",
    "command",
    "configs",
    "container_name",
    "cpu_count",
    "cpu_percent",
    "cpu_shares",
    "cpus",
    "depends_on",
    "deploy",
    "develop",
    "dns",
    "dns_search",
    "domainname",
    "entrypoint",
    "env_file",
    "environment",
    "expose",
    "external_links",
    "extra_hosts",
    "gpus",
    "group_add",
    "healthcheck",
    "hostname",
    "image",
    "init",
    "labels",
    "links",
    "logging",
    "mac_address",
    "mem_limit",
    "mem_reservation",
    "memswap_limit",
    "networks",
    "oom_score_adj",
    "pids_limit",
    "platform",
    "ports",
    "profiles",
    "pull_policy",
    "read_only",
    "restart",
    "scale",
    "secrets",
    "shm_size",
    "stdin_open",
    "stop_grace_period",
    "stop_signal",
    "tty",
];
/// Further keys without a part of the host.
const LIMITS: [&str; 6] = ["tmpfs", "ulimits", "user", "working_dir", "volumes", "sysctls"];
/// Keys of a build that give it nothing of the host.
const BUILD: [&str; 14] = [
    "args",
    "cache_from",
    "cache_to",
    "context",
    "dockerfile",
    "dockerfile_inline",
    "labels",
    "no_cache",
    "platforms",
    "pull",
    "secrets",
    "shm_size",
    "tags",
    "target",
];
/// Keys of the file itself.
const TOP: [&str; 7] = ["version", "name", "services", "volumes", "networks", "configs", "secrets"];

/// A service of a compose file.
#[derive(Debug)]
pub(super) struct Service {
    pub name: String,
    /// Names of the services that start with it.
    pub needs: Vec<String>,
    pub mounts: Vec<Mount>,
    /// Whether it has anything of the host but its mounts: privileges, devices, namespaces, keys that are not known.
    pub reaches: bool,
}

/// The services of a compose file; `None` if it cannot be read completely.
pub(super) fn services(text: &str) -> Option<Vec<Service>> {
    let Value::Object(file) = serde_saphyr::from_str(text).ok()? else { return None };
    if !file.keys().all(|key| TOP.contains(&key.as_str()) || key.starts_with("x-")) {
        return None;
    }
    // a volume with options of a driver may be a folder of the host
    if let Some(Value::Object(volumes)) = file.get("volumes")
        && volumes.values().any(|volume| volume.get("driver_opts").is_some())
    {
        return None;
    }
    if !has_own_settings(&file) {
        return None;
    }
    let Some(Value::Object(all)) = file.get("services") else { return None };
    all.iter().map(|(name, value)| service(name, value)).collect()
}

/// Whether all builds of a compose file get only files of the project.
pub(super) fn builds_from_project(text: &str) -> bool {
    let Ok(Value::Object(file)) = serde_saphyr::from_str(text) else { return false };
    let services = file.get("services").and_then(Value::as_object);
    let is_own = |service: &Value| service.get("build").is_none_or(is_own_build);
    has_own_settings(&file) && services.is_some_and(|all| all.values().all(is_own))
}

fn has_own_settings(file: &serde_json::Map<String, Value>) -> bool {
    let settings = ["configs", "secrets"].iter().filter_map(|key| file.get(*key)?.as_object());
    settings.flat_map(serde_json::Map::values).all(is_own_file)
}

/// Whether a configuration or secret comes from nowhere outside of the project.
fn is_own_file(value: &Value) -> bool {
    let file = value.get("file").map(|file| file.as_str().unwrap_or("/"));
    file.is_none_or(|file| !file.starts_with(['/', '~']) && !file.contains(['$', '\\']) && !file.contains(".."))
}

/// Whether an image is built from a folder of the project, with nothing of the host.
fn is_own_build(value: &Value) -> bool {
    match value {
        Value::String(folder) => is_relative(folder),
        Value::Object(keys) => {
            let places = ["context", "dockerfile"].iter().filter_map(|key| keys.get(*key));
            keys.keys().all(|key| BUILD.contains(&key.as_str()) && key != "dockerfile_inline")
                && places.into_iter().all(|place| place.as_str().is_some_and(is_relative))
        }
        _ => false,
    }
}

/// Whether a place is relative to the folder of the file, or an address.
fn is_relative(place: &str) -> bool {
    !place.starts_with(['/', '~', '$'])
}

/// Whether the files with variables for a service are relative to the folder of the file.
fn has_own_variables(value: &Value) -> bool {
    match value {
        Value::String(path) => is_relative(path),
        Value::Array(all) => all.iter().all(has_own_variables),
        Value::Object(keys) => keys.get("path").is_some_and(has_own_variables),
        _ => false,
    }
}

fn service(name: &str, value: &Value) -> Option<Service> {
    let Value::Object(keys) = value else { return None };
    let known = |key: &str| HARMLESS.contains(&key) || LIMITS.contains(&key) || key.starts_with("x-");
    let mounts = match keys.get("volumes") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(volumes)) => {
            volumes.iter().map(mount).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect()
        }
        Some(_) => return None,
    };
    let host = |key: &str| matches!(key, "network_mode") && keys.get(key).and_then(Value::as_str) != Some("host");
    let built = keys.get("build").is_none_or(is_own_build) && keys.get("env_file").is_none_or(has_own_variables);
    let names = |key: &str| match keys.get(key) {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::Object(all)) => all.keys().cloned().collect(),
        _ => Vec::new(),
    };
    let needs = [names("depends_on"), names("links")].concat();
    let needs = needs.iter().map(|name| name.split(':').next().unwrap_or_default().to_owned()).collect();
    let reaches = !keys.keys().all(|key| known(key) || host(key)) || !built;
    Some(Service { name: name.to_owned(), needs, mounts, reaches })
}

/// A volume of a service; `Some(None)` if it has no source on this machine, `None` if it is not understood.
fn mount(value: &Value) -> Option<Option<Mount>> {
    match value {
        Value::String(text) => {
            let parts: Vec<&str> = text.split(':').collect();
            match parts.as_slice() {
                [_] => Some(None),
                [source, target] => Some(Some(made(source, target, false))),
                [source, target, options] => {
                    Some(Some(made(source, target, options.split(',').any(|option| option == "ro"))))
                }
                _ => None,
            }
        }
        Value::Object(keys) => {
            let text = |key: &str| keys.get(key).and_then(Value::as_str);
            match text("type")? {
                "volume" | "tmpfs" => Some(None),
                "bind" => {
                    let read_only = keys.get("read_only").and_then(Value::as_bool).unwrap_or(false);
                    Some(Some(made(text("source")?, text("target")?, read_only)))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn made(source: &str, target: &str, read_only: bool) -> Mount {
    Mount { source: source.to_owned(), target: target.to_owned(), read_only }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn builds_get_files_of_the_project() {
        for (text, own) in [
            ("services:\n  a:\n    build: .\n    env_file: ../b\n", true),
            (
                "services:\n  a:\n    build:\n      context: .\n      secrets: [s]\nsecrets:\n  s:\n    file: ./s\n",
                true,
            ),
            ("services:\n  a:\n    build: .\nsecrets:\n  s:\n    file: ${HOME}/.ssh/id_rsa\n", false),
            ("services:\n  a:\n    build: /home/user\n", false),
            ("services:\n  a:\n    build:\n      context: .\n      ssh: [default]\n", false),
            ("a: [", false),
        ] {
            assert_eq!(super::builds_from_project(text), own, "{text}");
        }
    }

    #[test]
    fn what_services_get_is_read() {
        let file = "services:\n  db:\n    image: postgres:16\n    volumes: [data:/var/lib/postgresql/data]\n  web:\n    \
                    build: .\n    volumes:\n      - ./src:/app/src:ro\n      - type: bind\n        source: /etc\n        \
                    target: /host\n  root:\n    image: alpine\n    privileged: true\n  net:\n    image: alpine\n    \
                    network_mode: host\nvolumes:\n  data:\n";
        let all = services(file).unwrap();
        assert_eq!(all.iter().map(|service| service.reaches).collect::<Vec<_>>(), [false, false, true, true]);
        let mounts: Vec<&str> = all.iter().flat_map(|one| &one.mounts).map(|mount| mount.source.as_str()).collect();
        assert_eq!(mounts, ["data", "./src", "/etc"]);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let bomb = (0..40).fold("a0: &a0 [x]\n".to_owned(), |text, at| {
            format!("{text}a{}: &a{} [{}]\n", at + 1, at + 1, vec![format!("*a{at}"); 9].join(", "))
        });
        for file in [
            "",
            "services: 1",
            "services:\n  a:\n    image: b\ninclude: [other.yaml]\n",
            "services:\n  a:\n    image: b\nvolumes:\n  v:\n    driver_opts: {type: none, o: bind, device: /}\n",
            "services:\n  a:\n    image: b\nsecrets:\n  s:\n    file: /etc/shadow\n",
            &format!("x-a:\n  b: 1\n{bomb}services: *a40\n"),
            &format!("services: {}", "[".repeat(5_000)),
        ] {
            assert!(services(file).is_none(), "{}", file.chars().take(60).collect::<String>());
        }
    }
}
