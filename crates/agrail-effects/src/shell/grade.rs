//! How grave a change of a remote system is, by the words of the subcommand and its options.
//!
//! Rows of clients say that a subcommand changes something (`remote/change`) or only asks (`connect`). Clouds, clusters,
//! registries and hosting services have thousands of such subcommands with the same few words: who may do what (`access`),
//! what everyone may see (`public`), what costs money (`spend`), what nobody can undo (`irreversible`), what prints a secret
//! (`secret`). A grade is an effect beside those of the row.

use super::Shell;
use crate::table::Bound;
use crate::{Effect, Kind, Target, Verb};

/// Words for who may do what, and words beside which they mean something else.
const ACCESS: [&str; 24] = [
    "acl",
    "admin",
    "authorize",
    "binding",
    "clusterrolebinding",
    "collaborator",
    "collaborators",
    "egress",
    "grant",
    "iam",
    "ingress",
    "member",
    "members",
    "mfa",
    "owner",
    "permission",
    "permissions",
    "policy",
    "rbac",
    "role",
    "rolebinding",
    "roles",
    "sharing",
    "userkey",
];
const NO_ACCESS: [&str; 6] = ["backup", "lifecycle", "retention", "revoke", "rotation", "scaling"];
/// Pairs of words that make a key with which somebody gets in.
const KEYS: [(&str, &str); 8] = [
    ("access", "key"),
    ("api", "key"),
    ("deploy", "key"),
    ("gpg", "key"),
    ("login", "profile"),
    ("service", "account"),
    ("ssh", "key"),
    ("token", "create"),
];
/// Values that let everyone in.
const EVERYONE: [&str; 10] = [
    "0.0.0.0/0",
    "::/0",
    "alltraffic",
    "allusers",
    "allauthenticatedusers",
    "anonymous",
    "public-read",
    "public-read-write",
    "--publicly-accessible",
    "blockpublicacls=false",
];
/// Verbs that make something public, for the packages of a registry.
const PUBLISHES: [&str; 6] = ["deprecate", "publish", "push", "unpublish", "upload", "yank"];
/// Places that keep packages for everyone.
const REGISTRIES: [&str; 8] = ["crates.io", "hex", "maven", "npm-registry", "nuget", "packagist", "pypi", "rubygems"];
/// What costs money by the hour.
const MACHINES: [&str; 14] = [
    "cluster",
    "clusters",
    "database",
    "db",
    "droplet",
    "droplets",
    "instance",
    "instances",
    "machine",
    "node",
    "nodegroup",
    "pool",
    "server",
    "vm",
];
/// Ends of the options that say how many.
const COUNTS: [&str; 7] = ["capacity", "count", "instances", "nodes", "num", "replicas", "scale"];
const SECRETS: [&str; 8] =
    ["credential", "credentials", "password", "passwords", "secret", "secrets", "token", "access_token"];
const PRINTS: [&str; 11] =
    ["access", "cat", "decrypt", "export", "get", "lookup", "print", "read", "reveal", "show", "view"];

/// The grade of a subcommand; `None`: an ordinary one. `changes`: it changes the remote system.
fn grade(path: &[String], words: &[String], targets: &[String], changes: bool) -> Option<&'static str> {
    let parts: Vec<String> =
        path.iter().flat_map(|name| name.split([':', '-', '_', '.'])).map(str::to_ascii_lowercase).collect();
    let has = |word: &str| parts.iter().any(|part| part == word);
    let any = |list: &[&str]| list.iter().any(|word| has(word));
    let prints = || {
        let noun = parts.iter().position(|part| SECRETS.contains(&part.as_str()));
        let verb = parts.iter().rposition(|part| PRINTS.contains(&part.as_str()));
        // `secret show`, `auth token`, `get-access-token`; `get secrets` lists their names
        match (noun, verb) {
            (Some(noun), Some(verb)) => noun < verb || path.iter().any(|name| within(name)),
            (Some(noun), None) => parts.get(noun.wrapping_sub(1)).is_some_and(|before| before == "auth"),
            _ => false,
        }
    };
    if !changes {
        return (!has("login") && prints()).then_some("secret");
    }
    let all: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    let everyone = all.iter().any(|word| {
        word.split(['=', ',', ':']).any(|part| EVERYONE.contains(&part)) || EVERYONE.contains(&word.as_str())
    });
    let registry = targets.iter().any(|target| REGISTRIES.contains(&target.as_str()));
    let key = KEYS.iter().any(|(one, other)| has(one) && has(other));
    if has("list") || has("ls") {
        None
    } else if everyone || registry && any(&PUBLISHES) {
        Some("public")
    } else if registry && any(&["access", "owner", "token"]) {
        Some("access")
    } else if any(&["delete", "detach", "remove"]) {
        None
    } else if key || any(&ACCESS) && !any(&NO_ACCESS) {
        Some("access")
    } else {
        let starts = any(&["create", "launch", "purchase", "run"]) && any(&MACHINES);
        (starts || asks_for_many(words)).then_some("spend")
    }
}

/// Whether an option asks for a hundred or more of something: `--replicas=500`, `--count 100`.
fn asks_for_many(words: &[String]) -> bool {
    let many = |text: &str| text.parse::<u64>().is_ok_and(|number| number >= 100);
    let named = |name: &str| COUNTS.iter().any(|count| name.trim_start_matches('-').ends_with(count));
    words.iter().enumerate().any(|(place, word)| match word.split_once('=') {
        Some((name, value)) => name.starts_with("--") && named(name) && many(value),
        None => word.starts_with("--") && named(word) && words.get(place + 1).is_some_and(|value| many(value)),
    })
}

/// Whether one name says that it prints a secret: `get-access-token`.
fn within(name: &str) -> bool {
    let parts: Vec<&str> = name.split(['-', '_', ':']).collect();
    parts.iter().any(|part| PRINTS.contains(part)) && parts.iter().any(|part| SECRETS.contains(part))
}

impl Shell<'_> {
    /// Adds the grade of a subcommand to its effects. `from`: the index of the first of them.
    pub(super) fn add_grade(&mut self, program: &str, words: &[String], bound: &Bound, from: usize) {
        if bound.dry || bound.subcommands.is_empty() {
            return;
        }
        let own = self.reading.effects.get(from..).unwrap_or_default();
        let remote = |effect: &&Effect| {
            let here = effect.program == program;
            here && matches!(effect.verb, Verb::Remote | Verb::Connect | Verb::Send | Verb::Config)
                && effect.operation != "secret"
        };
        let own: Vec<&Effect> = own.iter().filter(remote).collect();
        if own.is_empty() {
            return;
        }
        let changes = own.iter().any(|effect| effect.verb == Verb::Remote);
        let targets: Vec<String> = own.iter().map(|effect| effect.target.name().to_owned()).collect();
        let Some(grade) = grade(&bound.subcommands, words, &targets, changes) else { return };
        let mut effect = Effect::new(Verb::Remote, Target::Named(Kind::Remote, program.to_owned()), program);
        grade.clone_into(&mut effect.operation);
        self.add(effect);
    }
}

#[cfg(test)]
mod tests {
    use super::grade;

    fn of(command: &str, targets: &[&str], changes: bool) -> Option<&'static str> {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let path: Vec<String> = words.iter().take_while(|word| !word.starts_with('-')).cloned().collect();
        let targets: Vec<String> = targets.iter().map(|&target| target.to_owned()).collect();
        grade(&path, &words, &targets, changes)
    }

    #[test]
    fn words_tell_the_grade_of_a_change() {
        for (command, grade) in [
            ("iam attach-role-policy --role-name a", Some("access")),
            ("projects add-iam-policy-binding p --member a", Some("access")),
            ("role assignment create --assignee a", Some("access")),
            ("ssh-key add a.pub", Some("access")),
            ("ec2 authorize-security-group-ingress --cidr 10.0.0.0/8", Some("access")),
            ("ec2 authorize-security-group-ingress --cidr 0.0.0.0/0", Some("public")),
            ("s3api put-bucket-acl --acl public-read", Some("public")),
            ("ec2 run-instances --count 2", Some("spend")),
            ("container clusters create a", Some("spend")),
            ("scale deployment/a --replicas=500", Some("spend")),
            ("container clusters resize a --num-nodes 200", Some("spend")),
            ("scale deployment/a --replicas=5", None),
            ("iam create-policy-version --policy-arn a", Some("access")),
            ("ec2 create-tags --resources a", None),
            ("ecr put-lifecycle-policy --a b", None),
            ("s3api put-bucket-versioning --bucket a", None),
        ] {
            assert_eq!(of(command, &["cloud"], true), grade, "{command}");
        }
        assert_eq!(of("publish", &["npm-registry"], true), Some("public"));
        assert_eq!(of("sns publish", &["aws"], true), None);
        assert_eq!(of("owner add a", &["npm-registry"], true), Some("access"));
    }

    #[test]
    fn words_tell_what_prints_a_secret() {
        for command in
            ["auth token", "secrets versions access latest", "keyvault secret show", "account get-access-token"]
        {
            assert_eq!(of(command, &[], false), Some("secret"), "{command}");
        }
        for command in
            ["secret list", "get secrets", "ecr get-login-password", "pr view 1", "secretsmanager list-secrets"]
        {
            assert_eq!(of(command, &[], false), None, "{command}");
        }
    }
}
