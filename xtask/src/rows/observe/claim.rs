//! Compares what the table claims about a command line with what happened.

use crate::trace::{Deed, Event};
use agrail_effects::{Effect, Target, UNKNOWN_SPAN, Verb};
use std::collections::BTreeSet;

/// Whether the effect is among what happened; nothing if no trace can show it.
pub fn seen(effect: &Effect, events: &BTreeSet<Event>) -> Option<bool> {
    let path = match &effect.target {
        Target::Path(path) => Some(path.as_str()),
        Target::Named(..) => None,
    };
    let did = |deeds: &[Deed]| events.iter().any(|event| deeds.contains(&event.deed));
    let on = |deeds: &[Deed]| match path {
        Some(path) => events.iter().any(|event| deeds.contains(&event.deed) && concerns(path, &event.target)),
        None => did(deeds),
    };
    Some(match effect.verb {
        Verb::Read | Verb::Answer => on(&[Deed::Read, Deed::Start]),
        Verb::List => on(&[Deed::Read, Deed::Look, Deed::Start]),
        Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite | Verb::Encrypt => on(&[Deed::Write, Deed::Mode]),
        Verb::Delete | Verb::Move | Verb::EraseTraces => on(&[Deed::Remove, Deed::Write]),
        Verb::Chmod => on(&[Deed::Mode]),
        Verb::Chown => on(&[Deed::Owner, Deed::Mode]),
        Verb::Link => on(&[Deed::Write]),
        Verb::Execute => on(&[Deed::Start, Deed::Read]),
        Verb::Mount => on(&[Deed::Mount]),
        Verb::Device => on(&[Deed::Write, Deed::Read]),
        Verb::Kill => did(&[Deed::Signal, Deed::Ask]),
        Verb::Limit => did(&[Deed::Limit]) || wrote_below(events, &["/proc", "/sys"]),
        Verb::Connect | Verb::Send | Verb::Remote => did(&[Deed::Connect]),
        Verb::Listen => did(&[Deed::Listen]),
        Verb::Service => did(&[Deed::Ask, Deed::System]) || wrote_below(events, &["/etc", "/run", "/dev"]),
        Verb::Account => wrote_below(events, &["/etc/"]),
        Verb::Privilege => did(&[Deed::Identity, Deed::Mode]) || wrote_below(events, &["/etc"]),
        Verb::Schedule => wrote_below(events, &["/var/spool", "/etc"]) || did(&[Deed::Ask]),
        Verb::Install => did(&[Deed::Connect]) || wrote_below(events, &["/usr", "/var/lib", "/etc", "/opt"]),
        Verb::Config => did(&[Deed::Write, Deed::System, Deed::Ask, Deed::Mount]),
        Verb::Data | Verb::Select | Verb::Insert | Verb::Update | Verb::Drop => {
            did(&[Deed::Connect, Deed::Ask, Deed::Read])
        }
        Verb::Container => did(&[Deed::Ask, Deed::Connect, Deed::Identity]),
        Verb::Dump => did(&[Deed::Trace]),
        Verb::Discard | Verb::Exhaust | Verb::Variable | Verb::Browse | Verb::Call | Verb::Unknown => return None,
    })
}

fn wrote_below(events: &BTreeSet<Event>, folders: &[&str]) -> bool {
    let writes = |event: &&Event| matches!(event.deed, Deed::Write | Deed::Remove);
    events.iter().filter(writes).any(|event| folders.iter().any(|folder| event.target.starts_with(folder)))
}

/// Whether what happened to `target` happened to the path of an effect: the path itself, something below it, or, for
/// a pattern, something that begins as it does.
fn concerns(path: &str, target: &str) -> bool {
    let path = path.trim_end_matches('/');
    match path.find(['*', '?', '[', UNKNOWN_SPAN]) {
        Some(at) => target.starts_with(path.get(..at).unwrap_or_default()),
        None => target.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
    }
}

/// Changes that no effect claims. Scratch files, devices that swallow everything, and a program's own folders in the
/// home (`~/.cache`, `~/.config`) do not count.
pub fn beyond<'a>(command: &str, effects: &[Effect], events: &'a BTreeSet<Event>, home: &str) -> Vec<&'a Event> {
    // a file under a name of the program's own that is gone at the end
    let temporary = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        !command.contains(name)
            && events.iter().any(|event| event.deed == Deed::Remove && event.target == path)
            && events.iter().any(|event| event.deed == Deed::Write && event.target == path)
    };
    let scratch = |path: &str| {
        ["/tmp/", "/var/tmp/", "/dev/", "/proc/", "/run/", "/var/cache/", "/var/log/", "/observed/"]
            .iter()
            .any(|folder| path.starts_with(folder) || *folder == format!("{path}/"))
            || path.strip_prefix(home).is_some_and(|rest| rest.starts_with("/.") || rest.is_empty())
            || path.is_empty()
    };
    let claims = |verbs: &[Verb]| effects.iter().any(|effect| verbs.contains(&effect.verb));
    // what cannot be seen as a path: an account, a package, a setting ... may be any file
    let anywhere = claims(&[
        Verb::Account,
        Verb::Install,
        Verb::Config,
        Verb::Service,
        Verb::Schedule,
        Verb::Privilege,
        Verb::Unknown,
        Verb::Container,
        Verb::Data,
        Verb::Drop,
        Verb::Update,
        Verb::Insert,
        Verb::Exhaust,
    ]);
    let changes_path = |verb: Verb| !matches!(verb, Verb::Read | Verb::List);
    let on = |path: &str| {
        effects.iter().any(|effect| match &effect.target {
            // also a file beside the target: a lock, a backup, its name without the last part
            Target::Path(claimed) => {
                let claimed = claimed.trim_end_matches('/');
                changes_path(effect.verb)
                    && (concerns(claimed, path)
                        || path.starts_with(claimed)
                        || claimed.starts_with(&format!("{path}.")))
            }
            Target::Named(..) => false,
        })
    };
    let network = [Verb::Connect, Verb::Send, Verb::Remote, Verb::Install, Verb::Listen, Verb::Container, Verb::Data];
    let unclaimed = |event: &&Event| match event.deed {
        Deed::Write | Deed::Remove | Deed::Mode | Deed::Owner => {
            !anywhere && !scratch(&event.target) && !on(&event.target) && !temporary(&event.target)
        }
        Deed::Connect => !claims(&network) && !claims(&[Verb::Unknown, Verb::Service]),
        Deed::Listen => !claims(&[Verb::Listen, Verb::Unknown, Verb::Service]),
        Deed::Mount => !claims(&[Verb::Mount, Verb::Unknown, Verb::Container, Verb::Execute]),
        Deed::System => !claims(&[Verb::Config, Verb::Unknown, Verb::Service, Verb::Container, Verb::Device]),
        Deed::Start => event.target.starts_with(home) && !claims(&[Verb::Execute, Verb::Unknown]),
        Deed::Read => {
            event.target == format!("{home}/{PROBE}")
                && !effects.iter().any(|effect| effect.target.name().ends_with(PROBE))
                && !claims(&[Verb::Unknown])
        }
        _ => false,
    };
    events.iter().filter(unclaimed).collect()
}

/// Name of the file that is given to options whose value is said to have no effect.
pub const PROBE: &str = "probe.txt";
