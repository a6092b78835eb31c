//! The facts that policies decide on. Each is declared once, in the list below. The declaration generates a field of
//! [`EffectFacts`], an attribute of the Cedar schema with its documentation, and a part of each request.

use super::class::{Destination, Known, Recovery, TargetClass, TargetType};
use crate::effect::{BROUGHT, CHANGED, Kind, UNKNOWN_SPAN, Verb};
use cedar_policy::{EntityUid, RestrictedExpression as Value};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// A type of facts.
pub(super) trait Fact {
    /// Its Cedar type.
    const TYPE: &'static str;
    /// Its Cedar value.
    fn value(&self, words: &super::request::Words) -> Value;
}

impl Fact for String {
    const TYPE: &'static str = "String";
    fn value(&self, _: &super::request::Words) -> Value {
        Value::new_string(self.clone())
    }
}

impl Fact for bool {
    const TYPE: &'static str = "Bool";
    fn value(&self, _: &super::request::Words) -> Value {
        Value::new_bool(*self)
    }
}

/// Implements [`Fact`] for types whose values are words of an enumerated entity type.
macro_rules! enumerated {
    ($($fact:ty, $name:literal, $words:ident;)*) => {$(
        impl Fact for $fact {
            const TYPE: &'static str = $name;
            fn value(&self, words: &super::request::Words) -> Value {
                let uid: EntityUid = words.$words.uid(self.as_str());
                Value::new_entity_uid(uid)
            }
        }
    )*};
}

enumerated! {
    Kind, "Kind", kind;
    Known, "Known", known;
    Recovery, "Recovery", recovery;
    Destination, "Destination", destination;
    TargetClass, "Class", class;
    TargetType, "Type", target_type;
}

/// One attribute of the schema.
#[derive(Debug)]
pub(super) struct Attribute {
    /// Name in policies.
    pub name: &'static str,
    /// Cedar type.
    pub cedar: &'static str,
    /// Lines of documentation.
    pub doc: &'static [&'static str],
}

macro_rules! facts {
    (
        target { $($(#[doc = $tdoc:literal])+ $target:ident $tname:literal $tjson:literal: $ttype:ty,)* }
        context { $($(#[doc = $cdoc:literal])+ $context:ident $cname:literal $cjson:literal: $ctype:ty,)* }
    ) => {
        /// One effect with its facts.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct EffectFacts {
            /// What the effect does to the target; the Cedar action.
            pub verb: Verb,
            $($(#[doc = $tdoc])+ #[serde(rename = $tjson)] pub $target: $ttype,)*
            $($(#[doc = $cdoc])+ #[serde(rename = $cjson)] pub $context: $ctype,)*
            /// The path with links resolved, if it differs from the name. Policies see its folders, too.
            #[serde(skip_serializing_if = "String::is_empty")]
            pub resolved: String,
            /// The folder in which the program runs; empty if it is unknown, or the target is a path.
            #[serde(skip_serializing_if = "String::is_empty")]
            pub folder: String,
        }

        impl EffectFacts {
            /// An effect with a verb and a target, and no further facts.
            #[must_use]
            pub fn new(verb: Verb, kind: Kind, name: &str) -> Self {
                Self {
                    name: name.to_owned(),
                    kind,
                    class: TargetClass::Kind(kind),
                    verb,
                    ..Self::nothing()
                }
            }

            /// Whether another part of the action changes the script before it runs.
            #[must_use]
            pub(crate) fn changed_before_run(&self) -> bool {
                self.detail == CHANGED || self.detail == BROUGHT
            }

            fn nothing() -> Self {
                Self {
                    verb: Verb::Unknown,
                    $($target: <$ttype>::default(),)*
                    $($context: <$ctype>::default(),)*
                    resolved: String::new(),
                    folder: String::new(),
                }
            }

            /// The attributes of the Cedar resource.
            pub(super) fn target_attributes(&self, words: &super::request::Words) -> HashMap<String, Value> {
                HashMap::from([$(($tname.to_owned(), self.$target.value(words)),)*])
            }

            /// The attributes of the Cedar context.
            pub(super) fn context_attributes(&self, words: &super::request::Words) -> Vec<(String, Value)> {
                vec![
                    $(($cname.to_owned(), self.$context.value(words)),)*
                    ("dynamic".to_owned(), Value::new_bool(self.name.contains(UNKNOWN_SPAN))),
                    ("folder".to_owned(), Value::new_entity_uid(words.folder(&self.folder))),
                ]
            }
        }

        pub(super) const TARGET: &[Attribute] = &[
            $(Attribute { name: $tname, cedar: <$ttype as Fact>::TYPE, doc: &[$($tdoc),+] },)*
        ];
        pub(super) const CONTEXT: &[Attribute] = &[
            $(Attribute { name: $cname, cedar: <$ctype as Fact>::TYPE, doc: &[$($cdoc),+] },)*
            Attribute { name: "dynamic", cedar: <bool as Fact>::TYPE, doc: &[" Part of the target is not constant."] },
            Attribute {
                name: "folder",
                cedar: "Folder",
                doc: &[
                    " The folder in which the program runs: context.folder in Folder::\"/home/me/shop\". Of an effect on a",
                    " path it is empty, because its place is that of the path.",
                ],
            },
        ];
    };
}

// field, name in policies, name in JSON: type
facts! {
    target {
        /// Kind of the target.
        kind "kind" "kind": Kind,
        /// The path or name. The character U+FFFC replaces each part that is not constant.
        name "name" "name": String,
        /// Class of the path; for a URL or host the reason not to contact it (`url-metadata`); otherwise the kind.
        class "class" "class": TargetClass,
        /// Whether it exists.
        exists "exists" "exists": Known,
        /// Whether the principal has the access that the verb needs.
        access "access" "access": Known,
        /// File type.
        target_type "type" "target_type": TargetType,
        /// The principal owns it.
        owned_by_subject "mine" "mine": bool,
        /// Name of the owner.
        owner "owner" "owner": String,
        /// It is the well-known folder itself (`/tmp`, `/usr`), not something inside it.
        is_root_of_class "itself" "itself": bool,
        /// It is an unspecified path below the named folder.
        is_prefix "below" "below": bool,
        /// Not even the beginning of the path is constant.
        unresolved "anywhere" "anywhere": bool,
        /// Whether the folder that contains it exists.
        parent "parent" "parent": Known,
        /// How what the effect destroys can be got back.
        recovery "recovery" "recovery": Recovery,
        /// Names of what would be lost, if they are known.
        lost "lost" "lost": String,
        /// How well the place of a connection or a transfer is known.
        destination "destination" "destination": Destination,
        /// A process of the system: pid 1, a kernel thread, another user's process.
        system "system" "system": bool,
    }
    context {
        /// Variant of the verb: `stop`, `create`, `lock` ...; `fetch` for a page that the agent loads; `possible` for
        /// a name that could belong to an outer table; `named` for an unknown program that the request names; the task
        /// of a web step; empty if the verb has only one.
        operation "operation" "operation": String,
        /// Name of the program.
        program "program" "program": String,
        /// Mode, owner or signal; the value of a variable.
        detail "detail" "detail": String,
        /// Everything below the target is affected, too.
        recursive "recursive" "recursive": bool,
        /// Existing files are kept, not replaced.
        keep "keep" "keep": bool,
        /// The file that replaces the target has its name and an ending: `x.conf.new` for `x.conf`.
        update "update" "update": bool,
        /// It runs with elevated privileges (`sudo`).
        privileged "privileged" "privileged": bool,
        /// It runs as the superuser, by identity or by `sudo`.
        runs_as_root "root" "root": bool,
        /// The new mode lets everyone write, or sets setuid or setgid.
        widens "widens" "widens": bool,
        /// The destination is an existing folder: the copy is created inside it.
        into_existing_dir "into" "into": bool,
        /// Whether the folder already contains that name.
        name_collision "clash" "clash": Known,
        /// The request asks for a rename.
        rename "rename" "rename": bool,
        /// The user's request is known.
        requested "requested" "requested": bool,
        /// The request asks only to look at something.
        only_looks "looks" "looks": bool,
        /// All that the agent has read is on record, from the beginning of its session.
        watched "watched" "watched": bool,
        /// Name of the agent, as its operator configured it.
        agent "agent" "agent": String,
        /// The action reads credentials, too.
        secrets "secrets" "secrets": bool,
        /// The action reads data of the user or of a project, too.
        carries "carries" "carries": bool,
        /// The request names the target, or the change of another system.
        asked "asked" "asked": bool,
        /// Credentials were read earlier in the session.
        held "held" "held": bool,
        /// The agent may have read a text that is not on record.
        unread "unread" "unread": bool,
        /// The target belongs to the guard, or the effect reaches something that does.
        guard "guard" "guard": bool,
        /// With `guard`: it may reach the guard, but need not.
        perhaps "perhaps" "perhaps": bool,
        /// The data written or the code run came over the network.
        network "network" "network": bool,
        /// The new owner is someone else.
        chown_to_other "foreign" "foreign": bool,
    }
}

impl Default for EffectFacts {
    fn default() -> Self {
        Self::nothing()
    }
}

/// The identity for whom the agent acts, as policies see it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Subject {
    /// Account name.
    pub name: String,
    /// Whether the environment has this account.
    pub known: bool,
    /// Whether it is the superuser.
    pub superuser: bool,
    /// Names of its groups.
    pub groups: Vec<String>,
    /// Roles of the identity.
    pub roles: Vec<String>,
    /// Attributes of the identity, as text.
    pub attributes: BTreeMap<String, String>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::machine::Class;

    #[test]
    fn json_keeps_the_names_of_the_first_release() {
        let mut facts = EffectFacts::new(Verb::Delete, Kind::Path, "/etc");
        facts.class = TargetClass::Path(Class::SystemConfig);
        facts.owned_by_subject = true;
        let json = serde_json::to_string(&facts).unwrap();
        assert!(
            json.starts_with(
                r#"{"verb":"delete","kind":"path","name":"/etc","class":"system-config","exists":"unknown""#
            )
        );
        assert!(json.contains(r#""target_type":"","mine":true"#), "{json}");
        assert_eq!(serde_json::from_str::<EffectFacts>(&json).unwrap(), facts);
    }
}
