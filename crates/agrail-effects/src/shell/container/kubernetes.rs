//! Manifests of Kubernetes: which workloads reach the node that they run on, and which roles they give away.

use serde_json::Value;

/// Longest manifest that is read, in bytes, and the deepest nesting of its documents.
const LONGEST: usize = 256 * 1024;
const DEEPEST: usize = 24;
/// Keys of a pod that share something of the node.
const SHARED: [&str; 4] = ["hostPID", "hostIPC", "hostNetwork", "hostPath"];
/// Roles that may do everything.
const ADMIN: [&str; 2] = ["cluster-admin", "admin"];

/// What a manifest asks for that reaches beyond its own containers, one line each. `None` if it cannot be read.
pub(super) fn reaches(text: &str) -> Option<Vec<String>> {
    if text.len() > LONGEST {
        return None;
    }
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).ok()?;
    let mut found = Vec::new();
    for document in &documents {
        let word = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = document.get("metadata").map(|data| word(data, "name")).unwrap_or_default();
        let kind = word(document, "kind");
        let mut about = Vec::new();
        look(document, 0, &mut about);
        if kind == "ClusterRoleBinding" || kind == "RoleBinding" {
            let role = document.get("roleRef").map(|role| word(role, "name")).unwrap_or_default();
            about.extend(ADMIN.contains(&role.as_str()).then(|| format!("role {role}")));
        }
        found.extend(about.into_iter().map(|what| format!("{kind} {name} with {what}")));
    }
    found.dedup();
    Some(found)
}

/// What the template of a Helm chart asks for, with a placeholder for each value. If it does not parse in this form, single
/// lines of it are searched.
pub(super) fn template_reaches(text: &str) -> Vec<String> {
    let is_control = |line: &str| line.starts_with("{{") && line.ends_with("}}");
    let lines: Vec<&str> = text.lines().filter(|line| !is_control(line.trim())).collect();
    let mut plain = String::new();
    let mut rest = lines.join("\n");
    while let Some((before, after)) = rest.split_once("{{") {
        plain.push_str(before);
        plain.push('x');
        rest = after.split_once("}}").map_or(String::new(), |(_, after)| after.to_owned());
    }
    plain.push_str(&rest);
    reaches(&plain).unwrap_or_else(|| {
        let shared = |line: &&str| {
            let (key, value) = line.trim().trim_start_matches("- ").split_once(':').unwrap_or_default();
            key == "hostPath" || value.trim() == "true" && (key == "privileged" || SHARED.contains(&key))
        };
        lines.iter().copied().filter(shared).map(|line| format!("a template with {}", line.trim())).collect()
    })
}

/// Notes each part of a document that shares something of the node.
fn look(value: &Value, depth: usize, found: &mut Vec<String>) {
    if depth > DEEPEST {
        return found.push("parts that are nested too deep".to_owned());
    }
    match value {
        Value::Object(keys) => {
            for (key, value) in keys {
                match value {
                    Value::Bool(true) if key == "privileged" || SHARED.contains(&key.as_str()) => {
                        found.push(key.clone())
                    }
                    Value::Object(path) if key == "hostPath" => {
                        let path = path.get("path").and_then(Value::as_str).unwrap_or_default();
                        found.push(format!("hostPath {path}"));
                    }
                    Value::Array(added) if key == "add" => {
                        let wide = |one: &&Value| {
                            matches!(one.as_str(), Some("ALL" | "SYS_ADMIN" | "SYS_PTRACE" | "SYS_MODULE"))
                        };
                        found.extend(
                            added.iter().find(wide).and_then(Value::as_str).map(|name| format!("capability {name}")),
                        );
                    }
                    _ => look(value, depth + 1, found),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|one| look(one, depth + 1, found)),
        _ => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn workloads_that_reach_the_node_are_found() {
        let plain = "kind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      containers: [{image: b, \
                     securityContext: {privileged: false, capabilities: {add: [NET_BIND_SERVICE]}}}]\n      volumes: \
                     [{emptyDir: {}}]\n---\nkind: Service\n";
        assert!(reaches(plain).unwrap().is_empty());
        let grave = "kind: Pod\nmetadata: {name: a}\nspec:\n  hostPID: true\n  volumes: [{hostPath: {path: /}}]\n---\nkind: \
                     ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: cluster-admin}\n";
        let all = ["Pod a with hostPID", "Pod a with hostPath /", "ClusterRoleBinding b with role cluster-admin"];
        assert_eq!(reaches(grave).unwrap(), all);
        assert!(reaches("kind: [").is_none());
    }

    #[test]
    fn templates_are_manifests_with_any_values() {
        let template = "{{- if .Values.on }}\nkind: DaemonSet\nmetadata:\n  name: {{ .Release.Name }}-a\nspec:\n  template:\n    \
                        spec:\n      hostNetwork: true\n      containers: [{image: \"{{ .Values.image }}\"}]\n{{- end }}\n";
        assert_eq!(template_reaches(template), ["DaemonSet x-a with hostNetwork"]);
        let broken = "spec:\n  {{- range .a }}{{ b }}: [\n  hostPID: true\n  privileged: false\n";
        assert_eq!(template_reaches(broken), ["a template with hostPID: true"]);
        assert!(template_reaches("kind: Service\nmetadata: {name: {{ .a }}}\n").is_empty());
    }
}
