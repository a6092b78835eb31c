//! What an approval is bound to.
//!
//! 1. The signature identifies exactly one action of one principal and agent.
//! 2. The outline identifies the actions of that principal and agent that differ from it in arguments alone. A person may
//!    widen an approval along those (`widened.rs`).

use crate::action::{Action, Context};
use crate::check::Finding;
use crate::effect::{self, Cause, Kind, UNKNOWN_SPAN, Verb};
use crate::facts;
use crate::policy::EffectFacts;
use crate::reason::Case;
use crate::shape::{Line, Shape};
use sha2::{Digest, Sha256};

/// Most arguments, and bytes of one, that are looked up as paths.
const ARGUMENTS: usize = 64;
const PATH: usize = 4_096;
/// Words of commands that change the folder in which others run.
const MOVES: &str = "cd pushd popd env chroot unshare -C --chdir --directory";

/// The identities of an action.
#[derive(Debug, Clone)]
pub(crate) struct Signed {
    /// SHA-256 (hexadecimal) of exactly this action: its normal form with all arguments, its effects on resolved paths,
    /// and the digests of unknown programs.
    pub signature: String,
    /// The same without its arguments and its effects.
    pub outline: String,
    /// What it is and does; `None` if it cannot be compared with another action.
    pub shape: Option<Shape>,
}

/// The identities of an action. `None` if a part is not constant, or is unknown and has no digest, so that no approval can
/// cover it. `findings`: what a person is asked about.
#[must_use]
pub(crate) fn signed(case: &Case, context: &Context, findings: &[Finding]) -> Option<Signed> {
    let account = facts::account(context);
    let mut effects = Vec::with_capacity(case.gathered.queries.len());
    for query in &case.gathered.queries {
        let open = query.unresolved
            || query.is_prefix
            || query.name.contains(UNKNOWN_SPAN)
            || query.detail.contains(UNKNOWN_SPAN);
        if open {
            return None;
        }
        let resolved = match &context.environment {
            Some(environment) if query.kind == Kind::Path => environment.path(&query.name, &account).resolved,
            _ => String::new(),
        };
        effects.push(line(query, resolved, context)?);
    }
    if effects.is_empty() {
        return None;
    }
    let form = effect::normal(&case.action, &account.home);
    let called = matches!(case.action.as_ref(), Action::ToolCall { .. });
    let unknown = called || case.gathered.queries.iter().any(|query| query.verb == Verb::Unknown);
    if unknown {
        effects.extend(named_files(&form, case, context));
    }
    effects.sort();
    let asked = findings.iter().filter(|f| super::answerable(f)).map(|f| f.source.to_string()).collect();
    let shape = Shape { form, effects, asked };
    let identity = serde_json::to_string(&context.identity).ok()?;
    let whole = serde_json::to_string(&shape.effects).ok()?;
    let signature = hashed([&identity, &context.agent, &shape.form.to_string(), &whole]);
    let outline = hashed([&identity, &context.agent, &shape.outline().to_string(), "outline"]);
    // from another folder, it is not known to which files its arguments lead
    let moves = unknown && !called && MOVES.split(' ').any(|word| form_words(&shape.form, word));
    Some(Signed { signature, outline, shape: Some(shape).filter(|_| !moves) })
}

/// The files that the arguments of a tool or an unknown program name through links: it may do anything to what they lead
/// to.
fn named_files(form: &serde_json::Value, case: &Case, context: &Context) -> Vec<Line> {
    let Some(environment) = &context.environment else { return Vec::new() };
    let account = facts::account(context);
    let folder = match &case.action.as_ref() {
        Action::Shell { cwd: Some(cwd), .. } => cwd.to_string_lossy().into_owned(),
        _ => account.home.clone(),
    };
    let path = |value: &String| match value.strip_prefix("~/") {
        Some(rest) => format!("{}/{rest}", account.home),
        None if value.starts_with('/') => value.clone(),
        None => format!("{folder}/{value}"),
    };
    // the value itself, and what follows a separator in it
    let parts = |value: String| {
        let after: Vec<String> = value
            .match_indices(['=', '@', ':', ','])
            .filter_map(|(at, _)| value.get(at + 1..).map(str::to_owned))
            .collect();
        std::iter::once(value).chain(after)
    };
    let values = crate::shape::arguments(form).1.into_iter().flat_map(parts);
    let values = values.filter(|value| !value.is_empty() && value.len() < PATH);
    let resolved = values.take(ARGUMENTS).map(|value| path(&value)).filter_map(|path| {
        let resolved = environment.path(&path, &account).resolved;
        let leads = !resolved.is_empty() && resolved != path;
        leads.then(|| Line { fixed: "argument".to_owned(), named: [path, resolved, String::new()] })
    });
    resolved.collect()
}

/// Whether a normal form has a word.
fn form_words(form: &serde_json::Value, word: &str) -> bool {
    match form {
        serde_json::Value::String(text) => text == word,
        serde_json::Value::Array(parts) => parts.iter().any(|part| form_words(part, word)),
        serde_json::Value::Object(fields) => fields.values().any(|field| form_words(field, word)),
        _ => false,
    }
}

fn hashed(parts: [&str; 4]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    crate::hex(&hash.finalize())
}

fn line(query: &EffectFacts, resolved: String, context: &Context) -> Option<Line> {
    let content = if query.verb == Verb::Unknown { unknown_content(query, context)? } else { String::new() };
    let fixed = format!(
        "{}\u{0}{}\u{0}{}\u{0}{}\u{0}{}{}{}{}\u{0}{content}",
        query.verb,
        query.operation,
        query.kind,
        query.program,
        u8::from(query.recursive),
        u8::from(query.keep),
        u8::from(query.privileged),
        u8::from(query.into_existing_dir),
    );
    // a service has its name with and without the ending
    let name = match query.kind {
        Kind::Service => query.name.trim_end_matches(".service"),
        _ => query.name.as_str(),
    };
    Some(Line { fixed, named: [name.to_owned(), resolved, query.detail.clone()] })
}

/// The content of an unknown effect for the signature: for an unknown program or a script, the path and the digest of
/// its file; empty for a path argument of such a program. `None` for every other unknown.
fn unknown_content(query: &EffectFacts, context: &Context) -> Option<String> {
    let environment = context.environment.as_ref()?;
    let at = |path: &str| Some(format!("{path}\u{0}{}", environment.file_digest(path)?));
    match query.kind.as_str() {
        "path" => Some(String::new()),
        kind if kind == Cause::Program.as_str() => at(&environment.program(&query.name)?),
        kind if kind == Cause::Script.as_str() && !query.changed_before_run() => at(&query.name),
        _ => None,
    }
}
