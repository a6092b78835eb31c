//! One effect with its facts, as Cedar sees it.

use crate::effect::Verb;
use crate::untrusted::visible;
use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression as Value, Schema,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

/// A fact that may not be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tri {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// Not known.
    #[default]
    Unknown,
}

impl Tri {
    /// `yes`, `no`, `unknown`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

impl From<Option<bool>> for Tri {
    fn from(known: Option<bool>) -> Self {
        match known {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::Unknown,
        }
    }
}

/// Who the agent acts for, as policies see it.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Subject {
    /// Account name.
    pub name: String,
    /// The environment has this account.
    pub known: bool,
    /// It is the superuser.
    pub superuser: bool,
    /// Names of its groups.
    pub groups: Vec<String>,
    /// Roles of the identity.
    pub roles: Vec<String>,
    /// Attributes of the identity, as text.
    pub attributes: BTreeMap<String, String>,
}

/// One effect with its facts. The fields are those of `schema.cedarschema`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each field is explained in schema.cedarschema")]
#[expect(clippy::struct_excessive_bools, reason = "they are the attributes of the schema")]
pub struct Query {
    pub verb: Verb,
    pub kind: String,
    pub name: String,
    pub class: String,
    pub exists: Tri,
    pub access: Tri,
    pub target_type: String,
    pub mine: bool,
    pub owner: String,
    pub itself: bool,
    pub below: bool,
    pub anywhere: bool,
    pub parent: Tri,
    pub system: bool,
    pub operation: String,
    pub program: String,
    pub detail: String,
    pub recursive: bool,
    pub keep: bool,
    pub privileged: bool,
    pub root: bool,
    pub widens: bool,
    pub into: bool,
    pub clash: Tri,
    pub rename: bool,
    pub requested: bool,
    pub agent: String,
    pub secrets: bool,
    pub held: bool,
    pub guard: bool,
    pub perhaps: bool,
    pub network: bool,
    pub foreign: bool,
}

impl Default for Query {
    fn default() -> Self {
        Self::new(Verb::Unknown, "", "")
    }
}

impl Query {
    /// An effect of which nothing is known but its verb and target.
    #[must_use]
    pub fn new(verb: Verb, kind: &str, name: &str) -> Self {
        Self {
            verb,
            kind: kind.to_owned(),
            name: name.to_owned(),
            class: kind.to_owned(),
            exists: Tri::Unknown,
            access: Tri::Unknown,
            target_type: String::new(),
            mine: false,
            owner: String::new(),
            itself: false,
            below: false,
            anywhere: false,
            parent: Tri::Unknown,
            system: false,
            operation: String::new(),
            program: String::new(),
            detail: String::new(),
            recursive: false,
            keep: false,
            privileged: false,
            root: false,
            widens: false,
            into: false,
            clash: Tri::Unknown,
            rename: false,
            requested: false,
            agent: String::new(),
            secrets: false,
            held: false,
            guard: false,
            perhaps: false,
            network: false,
            foreign: false,
        }
    }

    /// The effect in a few words, as the subject of a reason: `mv would delete /etc`.
    #[must_use]
    pub fn lead(&self) -> String {
        let shown = shown(&self.name);
        let what = match (self.verb, self.kind.as_str()) {
            (Verb::Unknown, "path") => return format!("{} is given {shown}", self.program),
            (Verb::Unknown, "script") if self.detail == crate::effect::shell::CHANGED => {
                return format!("{shown} is run by the action that changes it: {}", self.detail);
            }
            (Verb::Unknown, "dynamic") if self.name == crate::effect::shell::TYPED => {
                return format!("{} waits for typed input, which nobody checks", shown_program(&self.program));
            }
            (Verb::Unknown, cause) => return not_understood(cause, &shown),
            (verb, "path") => format!("{} {shown}", phrase(verb, &self.operation, self.into)),
            (verb, kind) if shown.is_empty() || shown == kind => {
                format!("{} {kind}", phrase(verb, &self.operation, false))
            }
            (verb, kind) => format!("{} {kind} {shown}", phrase(verb, &self.operation, false)),
        };
        let who = if self.program.is_empty() { "it" } else { &self.program };
        let how = if self.privileged { " with raised privilege" } else { "" };
        let deep = if self.recursive && self.kind == "path" { " and everything below" } else { "" };
        format!("{} would {what}{deep}{how}", shown_program(who))
    }

    /// The path, or the constant folder before what is not constant in it.
    #[must_use]
    pub fn constant_part(&self) -> &str {
        if !self.below {
            return &self.name;
        }
        let varies = |part: &str| part.contains([crate::effect::HOLE, '*', '?', '[']);
        let end: usize = self.name.split('/').take_while(|part| !varies(part)).map(|part| part.len() + 1).sum();
        self.name.get(..end.saturating_sub(1)).filter(|p| !p.is_empty()).unwrap_or("/")
    }

    /// What is known of the target, for evidence.
    #[must_use]
    pub fn facts_in_words(&self) -> String {
        let mut words = format!("class {}", self.class);
        let mut say = |text: std::fmt::Arguments<'_>| {
            let _ = write!(words, ", {text}");
        };
        match self.exists {
            Tri::Yes if self.target_type.is_empty() => say(format_args!("exists")),
            Tri::Yes => say(format_args!("exists ({})", self.target_type)),
            Tri::No if self.parent == Tri::No => say(format_args!("does not exist, nor does its folder")),
            Tri::No => say(format_args!("does not exist")),
            Tri::Unknown => {}
        }
        if self.mine {
            say(format_args!("owned by the identity"));
        } else if !self.owner.is_empty() {
            say(format_args!("owned by {}", self.owner));
        }
        if self.access != Tri::Unknown {
            say(format_args!("access: {}", self.access.as_str()));
        }
        for (so, text) in [
            (self.below, "something below it"),
            (self.anywhere, "not known where"),
            (self.system, "of the system"),
            (self.into, "copies go inside it"),
            (self.clash == Tri::Yes, "it has something of that name"),
            (self.rename, "the request says rename"),
            (self.recursive, "recursive"),
            (self.root, "as the superuser"),
        ] {
            if so {
                say(format_args!("{text}"));
            }
        }
        words
    }
}

/// Columns and tables that are named at most in a reason.
const MOST_NAMED: usize = 24;

/// Several effects of one verb on columns and tables, as the subject of a reason. A table is left out where one of
/// its columns is named.
pub(super) fn lead_of(queries: &[&Query]) -> String {
    let columns: Vec<&Query> = queries.iter().copied().filter(|q| q.kind == "column").collect();
    let covered = |q: &Query| {
        columns.iter().any(|c| c.name.strip_prefix(q.name.as_str()).is_some_and(|rest| rest.starts_with('.')))
    };
    let mut names: Vec<String> = columns.iter().map(|q| shown(&q.name)).collect();
    let tables = queries.iter().filter(|q| q.kind != "column" && !covered(q));
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

fn shown(name: &str) -> String {
    let clean = visible(name).replace(crate::effect::HOLE, "…");
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

fn not_understood(cause: &str, what: &str) -> String {
    match cause {
        "program" => format!("the program {what} is not known"),
        "arguments" => format!("these arguments are not known: {what}"),
        "parse" => format!("this does not parse: {what}"),
        "dynamic" => format!("what would run is only decided while it runs: {what}"),
        "budget" => format!("it is too large to be understood: {what}"),
        "script" => format!("the script cannot be read: {what}"),
        "language" => format!("there is no reader for this: {what}"),
        "look" => format!("{what} could not be looked at in full, so it is not known what this touches"),
        "obfuscated" => format!("the text hides what it says: {what}"),
        _ => format!("it is not understood: {what}"),
    }
}

fn phrase(verb: Verb, operation: &str, into: bool) -> String {
    let said = match verb {
        Verb::Read => "read",
        Verb::List => "list",
        Verb::Write => "write",
        Verb::Append => "append to",
        Verb::Create => "create",
        Verb::Overwrite if into => "put something into",
        Verb::Overwrite => "copy or move onto",
        Verb::Delete => "delete",
        Verb::Move => "move away",
        Verb::Encrypt => "encrypt",
        Verb::Chmod => "change the permissions of",
        Verb::Chown => "change the owner of",
        Verb::Link => "put a link at",
        Verb::Mount => "change the mount at",
        Verb::Device => "write to the device",
        Verb::Execute => "run",
        Verb::Kill => "end or signal",
        Verb::Limit => "limit",
        Verb::Service => "change",
        Verb::Account => "change",
        Verb::Privilege => "gain or hand out",
        Verb::Schedule => "schedule",
        Verb::Install => "install or remove",
        Verb::Connect => "connect to",
        Verb::Send => "send data to",
        Verb::Listen => "listen on",
        Verb::Exhaust => "exhaust",
        Verb::Cover => "remove traces in",
        Verb::Config => "change",
        Verb::Data => "touch",
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
        Verb::Unknown => "do something unknown to",
    };
    match (verb, operation) {
        (_, "") | (Verb::Unknown | Verb::Limit, _) => said.to_owned(),
        (Verb::Select, _) => "perhaps read".to_owned(),
        (Verb::Link, "to") => "make another name for".to_owned(),
        (Verb::Update, "rows") => "change every row of".to_owned(),
        (Verb::Update, "alter") => "change the columns of".to_owned(),
        (Verb::Delete, "rows") => "delete rows of".to_owned(),
        (Verb::Drop, "truncate") => "empty".to_owned(),
        (Verb::Service, "state") => "change the state of".to_owned(),
        (Verb::Service | Verb::Account | Verb::Data | Verb::Container | Verb::Install, operation) => {
            operation.to_owned()
        }
        _ => said.to_owned(),
    }
}

/// Type and action names, parsed once.
#[derive(Debug)]
pub(super) struct Names {
    user: EntityTypeName,
    target: EntityTypeName,
    actions: HashMap<Verb, EntityUid>,
}

impl Names {
    pub(super) fn new() -> Result<Self, String> {
        let kind = |name: &str| name.parse::<EntityTypeName>().map_err(|e| e.to_string());
        let action = kind("Action")?;
        let actions = Verb::ALL
            .into_iter()
            .map(|verb| (verb, EntityUid::from_type_name_and_id(action.clone(), EntityId::new(verb.as_str()))))
            .collect();
        Ok(Self { user: kind("User")?, target: kind("Target")?, actions })
    }
}

/// The Cedar request of one effect. `schema`: check it, too (6 us).
pub(super) fn request(
    names: &Names,
    schema: Option<&Schema>,
    subject: &Subject,
    query: &Query,
) -> Result<(Request, Entities), String> {
    let text = |s: &str| Value::new_string(s.to_owned());
    let set = |items: &[String]| Value::new_set(items.iter().map(|s| Value::new_string(s.clone())));
    let user = EntityUid::from_type_name_and_id(names.user.clone(), EntityId::new(&subject.name));
    let target = EntityUid::from_type_name_and_id(names.target.clone(), EntityId::new(&query.name));
    let action = names.actions.get(&query.verb).ok_or("no such verb")?.clone();
    let mut about_user = HashMap::from([
        ("name".to_owned(), text(&subject.name)),
        ("known".to_owned(), Value::new_bool(subject.known)),
        ("superuser".to_owned(), Value::new_bool(subject.superuser)),
        ("groups".to_owned(), set(&subject.groups)),
        ("roles".to_owned(), set(&subject.roles)),
    ]);
    // tags are text, and Cedar compares only numbers
    if let Some(age) = subject.attributes.get("age").and_then(|age| age.trim().parse().ok()) {
        about_user.insert("age".to_owned(), Value::new_long(age));
    }
    let who = Entity::new_with_tags(
        user.clone(),
        about_user,
        HashSet::new(),
        subject.attributes.iter().map(|(k, v)| (k.clone(), text(v))),
    )
    .map_err(|e| e.to_string())?;
    let what = Entity::new(
        target.clone(),
        HashMap::from([
            ("kind".to_owned(), text(&query.kind)),
            ("name".to_owned(), text(&query.name)),
            ("class".to_owned(), text(&query.class)),
            ("exists".to_owned(), text(query.exists.as_str())),
            ("access".to_owned(), text(query.access.as_str())),
            ("type".to_owned(), text(&query.target_type)),
            ("mine".to_owned(), Value::new_bool(query.mine)),
            ("owner".to_owned(), text(&query.owner)),
            ("itself".to_owned(), Value::new_bool(query.itself)),
            ("below".to_owned(), Value::new_bool(query.below)),
            ("anywhere".to_owned(), Value::new_bool(query.anywhere)),
            ("parent".to_owned(), text(query.parent.as_str())),
            ("system".to_owned(), Value::new_bool(query.system)),
        ]),
        HashSet::new(),
    )
    .map_err(|e| e.to_string())?;
    let context = Context::from_pairs([
        ("operation".to_owned(), text(&query.operation)),
        ("program".to_owned(), text(&query.program)),
        ("detail".to_owned(), text(&query.detail)),
        ("recursive".to_owned(), Value::new_bool(query.recursive)),
        ("dynamic".to_owned(), Value::new_bool(query.name.contains(crate::effect::HOLE))),
        ("keep".to_owned(), Value::new_bool(query.keep)),
        ("privileged".to_owned(), Value::new_bool(query.privileged)),
        ("root".to_owned(), Value::new_bool(query.root)),
        ("widens".to_owned(), Value::new_bool(query.widens)),
        ("into".to_owned(), Value::new_bool(query.into)),
        ("clash".to_owned(), text(query.clash.as_str())),
        ("rename".to_owned(), Value::new_bool(query.rename)),
        ("requested".to_owned(), Value::new_bool(query.requested)),
        ("agent".to_owned(), text(&query.agent)),
        ("secrets".to_owned(), Value::new_bool(query.secrets)),
        ("held".to_owned(), Value::new_bool(query.held)),
        ("guard".to_owned(), Value::new_bool(query.guard)),
        ("perhaps".to_owned(), Value::new_bool(query.perhaps)),
        ("network".to_owned(), Value::new_bool(query.network)),
        ("foreign".to_owned(), Value::new_bool(query.foreign)),
    ])
    .map_err(|e| e.to_string())?;
    let request = Request::new(user, action, target, context, schema).map_err(|e| e.to_string())?;
    let entities = Entities::from_entities([who, what], schema).map_err(|e| e.to_string())?;
    Ok((request, entities))
}
