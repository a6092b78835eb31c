//! The text that a file has before an action writes it again.

use super::spans::plain;
use crate::action::{Action, Context};
use crate::effect::shell::{FileSource, NoFiles};
use crate::effect::{self, Target, Verb, Who};

/// Longest file that is read, in bytes.
const LONGEST: usize = 1 << 20;

/// The text of the only file that a tool writes, in [`plain`] form; empty if there is none, or it writes several, or it cannot be read.
pub(super) async fn text(action: &Action, context: &Context) -> String {
    let (Action::ToolCall { .. }, Some(environment)) = (action, &context.environment) else { return String::new() };
    let who = Who { name: &context.identity.name, home: context.home.as_deref().unwrap_or("/") };
    let reading = effect::extract_effects(action, who, &NoFiles);
    let mut written = reading.effects.iter().filter(|effect| changes(effect.verb)).map(|effect| &effect.target);
    let (Some(Target::Path(path)), None) = (written.next(), written.next()) else { return String::new() };
    let (path, environment) = (path.clone(), environment.clone());
    // a file may hang
    let read = tokio::task::spawn_blocking(move || environment.script(&path, LONGEST).ok()).await;
    read.ok().flatten().map(|bytes| plain(&String::from_utf8_lossy(&bytes))).unwrap_or_default()
}

fn changes(verb: Verb) -> bool {
    matches!(verb, Verb::Write | Verb::Append | Verb::Create | Verb::Overwrite)
}
