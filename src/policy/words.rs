//! Wording of effects and facts, for reasons and evidence.

use super::class::{Known, TargetType};
use super::facts::EffectFacts;
use crate::effect::{BINARY, Kind, Verb};
use crate::untrusted::visible;
use std::fmt::Write as _;

impl EffectFacts {
    /// The effect in a few words, as the beginning of a reason: `rm would delete /etc`.
    #[must_use]
    pub fn lead(&self) -> String {
        let lost = if self.lost.is_empty() { String::new() } else { format!(" ({})", shown(&self.lost)) };
        let shown = shown(&self.name);
        let what = match (self.verb, self.kind) {
            (Verb::Unknown, Kind::Path) => {
                return format!("unknown program `{}` would get the path {shown}", self.program);
            }
            (Verb::Unknown, Kind::Script) if self.changed_before_run() => {
                return format!("the action changes {shown} and then runs it: {}", self.detail);
            }
            (Verb::Unknown, Kind::Script) if self.operation == BINARY => {
                return format!("{shown} is a binary file, and its effect is unknown");
            }
            (Verb::Unknown, Kind::Dynamic) if self.name == crate::effect::shell::TYPED => {
                return format!("{} would wait for typed input, which nobody checks", shown_program(&self.program));
            }
            (Verb::Unknown, cause) => return not_understood(cause, &shown),
            (verb, Kind::Path) => format!("{} {shown}", phrase(verb, &self.operation, self.into_existing_dir)),
            (Verb::Dump, Kind::Resource) => format!("capture the {shown}"),
            (Verb::Variable, _) if self.operation == "hooks" => format!("skip the project's hooks with {shown}"),
            (verb, kind) if shown.is_empty() || shown == kind.as_str() => {
                format!("{} {kind}", phrase(verb, &self.operation, false))
            }
            (verb, kind) => format!("{} {kind} {shown}", phrase(verb, &self.operation, false)),
        };
        let who = if self.program.is_empty() { "it" } else { &self.program };
        let how = if self.privileged { " with elevated privileges" } else { "" };
        let deep = if self.recursive && self.kind == Kind::Path { " and everything below" } else { "" };
        format!("{} would {what}{deep}{lost}{how}", shown_program(who))
    }

    /// The path; if a part of it is not constant, the folder before that part.
    #[must_use]
    pub fn constant_part(&self) -> &str {
        if !self.is_prefix {
            return &self.name;
        }
        let varies = |part: &str| part.contains([crate::effect::UNKNOWN_SPAN, '*', '?', '[']);
        let end: usize = self.name.split('/').take_while(|part| !varies(part)).map(|part| part.len() + 1).sum();
        self.name.get(..end.saturating_sub(1)).filter(|p| !p.is_empty()).unwrap_or("/")
    }

    /// The known facts about the target, for evidence.
    #[must_use]
    pub fn facts_in_words(&self) -> String {
        let mut words = format!("class {}", self.class.as_str());
        let mut say = |text: std::fmt::Arguments<'_>| {
            let _ = write!(words, ", {text}");
        };
        match self.exists {
            Known::Yes if self.target_type == TargetType::Unknown => say(format_args!("exists")),
            Known::Yes => say(format_args!("exists ({})", self.target_type.as_str())),
            Known::No if self.parent == Known::No => say(format_args!("does not exist, nor does its folder")),
            Known::No => say(format_args!("does not exist")),
            Known::Unknown => {}
        }
        if self.owned_by_subject {
            say(format_args!("owned by the identity"));
        } else if !self.owner.is_empty() {
            say(format_args!("owned by {}", self.owner));
        }
        if self.access != Known::Unknown {
            say(format_args!("access: {}", self.access.as_str()));
        }
        for (so, text) in [
            (self.is_prefix, "an unspecified path below it"),
            (self.unresolved, "location unknown"),
            (self.system, "of the system"),
            (self.into_existing_dir, "copies go inside it"),
            (self.name_collision == Known::Yes, "it already contains that name"),
            (self.rename, "the request asks for a rename"),
            (self.recursive, "recursive"),
            (self.runs_as_root, "as the superuser"),
        ] {
            if so {
                say(format_args!("{text}"));
            }
        }
        words
    }
}

/// Most columns and tables that a reason names.
const MOST_NAMED: usize = 24;

/// Several effects of one verb on columns and tables, as the beginning of a reason. A table is left out if one of its
/// columns is named.
pub(super) fn lead_of(queries: &[&EffectFacts]) -> String {
    let columns: Vec<&EffectFacts> = queries.iter().copied().filter(|q| q.kind == Kind::Column).collect();
    let covered = |q: &EffectFacts| {
        columns.iter().any(|c| c.name.strip_prefix(q.name.as_str()).is_some_and(|rest| rest.starts_with('.')))
    };
    let mut names: Vec<String> = columns.iter().map(|q| shown(&q.name)).collect();
    let tables = queries.iter().filter(|q| q.kind != Kind::Column && !covered(q));
    names.extend(tables.map(|q| format!("the table {}", shown(&q.name))));
    let verb = queries.first().map_or_else(String::new, |q| phrase(q.verb, "", false));
    let what = if columns.len() > 1 {
        "columns "
    } else if columns.len() == 1 {
        "column "
    } else {
        ""
    };
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("it would {verb} {what}{}{more}", names.join(", "))
}

pub(super) fn shown(name: &str) -> String {
    let clean = visible(name).replace(crate::effect::UNKNOWN_SPAN, "…");
    let length = clean.chars().count();
    if length <= 120 {
        return clean;
    }
    let head: String = clean.chars().take(100).collect();
    format!("{head}… [{} more characters]", length - 100)
}

fn shown_program(name: &str) -> String {
    if name.chars().count() <= 40 { shown(name) } else { "the script".to_owned() }
}

fn not_understood(cause: Kind, what: &str) -> String {
    match cause {
        Kind::Program => format!("unknown program `{what}`"),
        Kind::Arguments => format!("unknown arguments: {what}"),
        Kind::Option => format!("unknown option: {what}"),
        Kind::Parse => format!("parse error: {what}"),
        Kind::Dynamic => format!("the effect is known only at run time: {what}"),
        Kind::Budget => format!("a limit of the analysis was exceeded: {what}"),
        Kind::Script => format!("the script cannot be read: {what}"),
        Kind::Language => format!("no parser supports this: {what}"),
        Kind::Look => format!("{what} could not be inspected completely, so the targets are unknown"),
        Kind::Obfuscated => format!("the text hides its content: {what}"),
        _ => format!("unknown effect: {what}"),
    }
}

fn phrase(verb: Verb, operation: &str, into: bool) -> String {
    let said = plain(verb, into);
    match (verb, operation) {
        (_, "") | (Verb::Unknown | Verb::Limit, _) => said.to_owned(),
        (Verb::Select, _) => "possibly read".to_owned(),
        (Verb::List, "enter") => "enter".to_owned(),
        (Verb::Link, "to") => "create a hard link to".to_owned(),
        (Verb::Update, "rows") => "change every row of".to_owned(),
        (Verb::Update, "alter") => "change the columns of".to_owned(),
        (Verb::Delete, "rows") => "delete rows of".to_owned(),
        (Verb::Discard, "untracked" | "unversioned") => "delete untracked files in".to_owned(),
        (Verb::Discard, "ignored") => "delete ignored files in".to_owned(),
        (Verb::Discard, "worktree") => "delete the work tree".to_owned(),
        (Verb::Discard, "ref") => "delete or move".to_owned(),
        (Verb::Drop, "truncate") => "empty".to_owned(),
        (Verb::Service, "state") => "change the state of".to_owned(),
        (Verb::Account, "password") => "change the password of".to_owned(),
        (Verb::Account, "group") => "change the groups of".to_owned(),
        (Verb::Install, "local") => "install".to_owned(),
        (Verb::Read, "secrets") => "search for secrets in".to_owned(),
        (Verb::Remote, "secret") => "print secrets of".to_owned(),
        (Verb::Remote, "access") => "change rights on".to_owned(),
        (Verb::Remote, "public") => "make something public on".to_owned(),
        (Verb::Install, "source") => "add a source or key for".to_owned(),
        (Verb::Data, "select") => "query".to_owned(),
        (Verb::Service | Verb::Account | Verb::Data | Verb::Container | Verb::Install, operation) => {
            operation.to_owned()
        }
        _ => said.to_owned(),
    }
}

/// The verb without its operation; `into`: the target is an existing folder.
const fn plain(verb: Verb, into: bool) -> &'static str {
    match verb {
        Verb::Read => "read",
        Verb::List => "list",
        Verb::Write => "write",
        Verb::Append => "append to",
        Verb::Create => "create",
        Verb::Overwrite if into => "copy or move data into the folder",
        Verb::Overwrite => "copy or move data to",
        Verb::Delete => "delete",
        Verb::Discard => "throw away changes in",
        Verb::Move => "move",
        Verb::Encrypt => "encrypt",
        Verb::Chmod => "change the permissions of",
        Verb::Chown => "change the owner of",
        Verb::Link => "create a link at",
        Verb::Mount => "change the mount at",
        Verb::Device => "write to the device",
        Verb::Execute => "run",
        Verb::Kill => "kill or signal",
        Verb::Limit => "limit",
        Verb::Service => "change",
        Verb::Account => "change",
        Verb::Privilege => "gain or grant",
        Verb::Schedule => "schedule",
        Verb::Install => "install or remove",
        Verb::Connect => "connect to",
        Verb::Send => "send data to",
        Verb::Listen => "listen on",
        Verb::Exhaust => "exhaust",
        Verb::EraseTraces => "erase traces in",
        Verb::Config => "change",
        Verb::Data => "read or change",
        Verb::Select => "read",
        Verb::Insert => "add to",
        Verb::Update => "change",
        Verb::Drop => "drop",
        Verb::Container => "use",
        Verb::Remote => "change",
        Verb::Dump => "read the memory of",
        Verb::Variable => "set",
        Verb::Answer => "answer",
        Verb::Browse => "act on",
        Verb::Call => "call",
        Verb::Unknown => "have an unknown effect on",
    }
}
