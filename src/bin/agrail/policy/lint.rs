//! What a rule about a folder misses: commands that reach the same files in another way.

use agrail::Guard;
use agrail::action::{Action, Context, Identity};
use agrail::check::{Outcome, Source as Answered};
use agrail::machine::Environment;
use agrail::policy::{Policy, Rule};
use anyhow::Result;
use cedar_policy::{Policy as Cedar, PolicyId};
use std::collections::BTreeSet;

/// Ways to a folder: `{F}` is the folder, `{P}` what holds it. True: the command only looks.
const WAYS: [(bool, &str, &str); 25] = [
    (false, "create a file in it", "touch {F}/new"),
    (false, "write a file in it", "echo x > {F}/a"),
    (false, "append to a file in it", "echo x >> {F}/a"),
    (false, "edit a file in it", "sed -i s/a/b/ {F}/a"),
    (false, "truncate a file in it", "truncate -s 0 {F}/a"),
    (false, "copy a file into it", "cp new {F}/a"),
    (false, "move a file into it", "mv new {F}/"),
    (false, "move a file out of it", "mv {F}/a /tmp/"),
    (false, "delete a file in it", "rm {F}/a"),
    (false, "delete it", "rm -rf {F}"),
    (false, "delete what holds it", "rm -rf {P}"),
    (false, "delete all that is in what holds it", "rm -rf {P}/*"),
    (false, "rename it", "mv {F} {F}.old"),
    (false, "rename what holds it", "mv {P} {P}.old"),
    (false, "change its mode", "chmod -R 700 {F}"),
    (false, "change the mode of what holds it", "chmod -R 700 {P}"),
    (false, "create a link in it", "ln -s /tmp/x {F}/link"),
    (false, "unpack an archive into it", "tar -xf new.tar -C {F}"),
    (false, "synchronise into it", "rsync -a --delete new/ {F}/"),
    (false, "write a file in it from Python", "python3 -c \"open('{F}/a', 'w').write('x')\""),
    (true, "read a file in it", "cat {F}/a"),
    (true, "search it", "grep -r x {F}"),
    (true, "search what holds it", "grep -r x {P}"),
    (true, "copy a file out of it", "cp {F}/a /tmp/a"),
    (true, "read a file in it from Python", "python3 -c \"print(open('{F}/a').read())\""),
];

/// A command that a rule does not stop, although it stops others that reach the same folder.
#[derive(Debug, serde::Serialize)]
pub struct Miss {
    pub what: String,
    pub command: String,
}

/// What was tried about one rule.
#[derive(Debug, serde::Serialize)]
pub struct Tried {
    pub rule: String,
    pub folder: String,
    pub stopped: usize,
    pub tried: usize,
    pub misses: Vec<Miss>,
}

/// Tries each rule that stops something in a folder.
pub async fn tried(policy: &Policy, rules: &[&Rule], environment: &Environment, user: &str) -> Result<Vec<Tried>> {
    let guard = Guard::builder().policy(policy.clone()).build()?;
    let identity = Identity { name: user.to_owned(), ..Identity::default() };
    let mut all = Vec::new();
    for rule in rules.iter().filter(|rule| rule.forbids) {
        for folder in folders(&policy.text(&rule.id).unwrap_or_default()) {
            let context = Context::new(identity.clone(), Some(environment.clone()));
            all.push(one(&guard, rule, &folder, &context).await);
        }
    }
    Ok(all)
}

async fn one(guard: &Guard, rule: &Rule, folder: &str, context: &Context) -> Tried {
    let source = Answered::Policy(rule.id.clone());
    let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
    let mut results = Vec::new();
    for (looks, what, way) in WAYS {
        // the folder that holds it is not named if that is the root
        if above.is_empty() && way.contains("{P}") {
            continue;
        }
        let command = way.replace("{F}", &quoted(folder)).replace("{P}", &quoted(above));
        let action = Action::Shell { command: command.clone(), cwd: Some("/tmp".into()) };
        let verdict = guard.check(&action, context).await;
        let stops = verdict.findings.iter().any(|found| found.source == source && found.outcome == Outcome::Violation);
        results.push((looks, what, command, stops));
    }
    // a rule that stops no look is not about looks
    let about = |kind: bool| results.iter().any(|(looks, _, _, stops)| *looks == kind && *stops);
    let (looks, changes) = (about(true), about(false));
    let concerned: Vec<_> =
        results.iter().filter(|(is_look, ..)| if *is_look { looks } else { changes || !looks }).collect();
    let stopped = concerned.iter().filter(|(.., stops)| *stops).count();
    let misses = concerned
        .iter()
        .filter(|(.., stops)| !stops)
        .map(|(_, what, command, _)| Miss { what: (*what).to_owned(), command: command.clone() });
    let (tried, misses) = (concerned.len(), misses.collect());
    Tried { rule: rule.id.clone(), folder: folder.to_owned(), stopped, tried, misses }
}

/// A path as a word of a shell.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// The folders that a policy names: as folders, or as texts.
fn folders(text: &str) -> BTreeSet<String> {
    let Ok(policy) = Cedar::parse(Some(PolicyId::new("rule")), text) else { return BTreeSet::new() };
    let named = policy.entity_literals().into_iter().filter(|uid| uid.type_name().to_string() == "Folder");
    let mut found: BTreeSet<String> = named.map(|uid| uid.id().unescaped().to_owned()).collect();
    if found.is_empty() {
        let texts = policy.to_json().ok().map(|json| paths(&json)).unwrap_or_default();
        found.extend(texts);
    }
    found.iter().map(|path| path.trim_end_matches('/').to_owned()).filter(|path| path.len() > 1).collect()
}

/// The texts of an expression that look like absolute paths.
fn paths(value: &serde_json::Value) -> BTreeSet<String> {
    match value {
        serde_json::Value::String(text) if text.starts_with('/') && text.len() > 1 => BTreeSet::from([text.clone()]),
        serde_json::Value::Array(parts) => parts.iter().flat_map(paths).collect(),
        serde_json::Value::Object(parts) => {
            parts.iter().filter(|(key, _)| *key != "annotations").flat_map(|(_, part)| paths(part)).collect()
        }
        _ => BTreeSet::new(),
    }
}
