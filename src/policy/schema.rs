//! The Cedar schema, generated from the declarations of facts, verbs and classes.

use super::class::{Destination, Known, Recovery, TargetClass, TargetType};
use super::facts::{Attribute, CONTEXT, TARGET};
use crate::effect::{Kind, Verb};
use std::fmt::Write as _;
use std::sync::LazyLock;
use strum::VariantArray as _;

/// A named set of verbs, for short policies: `action in Action::"change"`.
pub(super) struct Group {
    pub name: &'static str,
    pub doc: &'static str,
    pub verbs: &'static [Verb],
}

pub(super) const GROUPS: &[Group] = &[
    Group { name: "look", doc: "reads without changing anything", verbs: &[Verb::Read, Verb::List, Verb::Select] },
    Group {
        name: "change",
        doc: "changes a file, a device or data, deletions included",
        verbs: &[
            Verb::Write,
            Verb::Append,
            Verb::Create,
            Verb::Overwrite,
            Verb::Delete,
            Verb::Discard,
            Verb::Move,
            Verb::Encrypt,
            Verb::Chmod,
            Verb::Chown,
            Verb::Link,
            Verb::Mount,
            Verb::Device,
            Verb::Insert,
            Verb::Update,
            Verb::Drop,
        ],
    },
    Group {
        name: "remove",
        doc: "deletes or moves away",
        verbs: &[Verb::Delete, Verb::Discard, Verb::Move, Verb::Drop],
    },
    Group { name: "disclose", doc: "sends data to someone", verbs: &[Verb::Send, Verb::Answer] },
    Group {
        name: "communicate",
        doc: "uses the network",
        verbs: &[Verb::Connect, Verb::Send, Verb::Listen, Verb::Browse, Verb::Remote],
    },
    Group {
        name: "administer",
        doc: "changes how the machine works",
        verbs: &[
            Verb::Kill,
            Verb::Limit,
            Verb::Service,
            Verb::Account,
            Verb::Privilege,
            Verb::Schedule,
            Verb::Install,
            Verb::Config,
            Verb::Container,
            Verb::Mount,
        ],
    },
];

/// The groups that contain a verb.
pub(super) fn groups_of(verb: Verb) -> impl Iterator<Item = &'static Group> {
    GROUPS.iter().filter(move |group| group.verbs.contains(&verb))
}

/// The schemas of effects and of events as Cedar text.
pub(super) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| format!("{}{}", of_effects(), super::event::SCHEMA));
    &TEXT
}

/// The schema of effects as Cedar text.
pub(super) fn of_effects() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(generate);
    &TEXT
}

/// The identity in both schemas.
pub(super) const USER: &str = "\nentity User {\n  name: String,\n  known: Bool, // the environment has this account\n  superuser: Bool,\n  groups: Set<String>,\n  roles: Set<String>,\n  age?: Long, // the attribute age, if it is a whole number\n} tags String; // the attributes of the identity\n";

/// The enumerated types: the name in the schema, and the words.
pub(super) fn enumerations() -> [(&'static str, Vec<&'static str>); 6] {
    [
        ("Class", words(TargetClass::all().map(TargetClass::as_str))),
        ("Destination", words(Destination::VARIANTS.iter().map(|one| one.as_str()))),
        ("Kind", words(Kind::VARIANTS.iter().map(|kind| kind.as_str()))),
        ("Known", words(Known::VARIANTS.iter().map(|known| known.as_str()))),
        ("Recovery", words(Recovery::VARIANTS.iter().map(|one| one.as_str()))),
        ("Type", words(TargetType::VARIANTS.iter().map(|one| one.as_str()))),
    ]
}

/// The words without repetition, in their order.
fn words(all: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut words = Vec::new();
    for word in all {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

fn generate() -> String {
    let mut schema = String::from(
        "// Everything that a policy can refer to. The principal is the identity for whom the agent acts, the action\n\
         // is the verb of an effect, the resource is its target with the facts from the environment, and the context\n\
         // holds further facts about the effect.\n\n",
    );
    for (name, words) in enumerations() {
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let _ = writeln!(schema, "entity {name} enum [{}];", quoted.join(", "));
    }
    schema.push_str(USER);
    schema.push_str(
        "\n// the folders that contain a path, at any depth: resource in Folder::\"/data/prod\"; in a policy that forbids, what holds\n// that folder counts, too, if it is removed or changed with all that it holds\nentity Folder in [Folder];\n\n\
         entity Target in [Folder] {\n",
    );
    attributes(&mut schema, TARGET);
    schema.push_str("};\n\ntype Context = {\n");
    attributes(&mut schema, CONTEXT);
    schema.push_str("};\n\n");
    for group in GROUPS {
        let _ = writeln!(schema, "action {}; // {}", group.name, group.doc);
    }
    schema.push('\n');
    for verb in Verb::ALL {
        let groups: Vec<&str> = groups_of(*verb).map(|group| group.name).collect();
        let within = if groups.is_empty() { String::new() } else { format!(" in [{}]", groups.join(", ")) };
        let _ = writeln!(
            schema,
            "action {verb}{within} appliesTo {{ principal: [User], resource: [Target], context: Context }};"
        );
    }
    schema
}

fn attributes(schema: &mut String, attributes: &[Attribute]) {
    for attribute in attributes {
        for line in attribute.doc {
            let _ = writeln!(schema, "  //{line}");
        }
        let _ = writeln!(schema, "  {}: {},", attribute.name, attribute.cedar);
    }
}
