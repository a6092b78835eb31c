//! Translates a verdict into the protocol of a host (`[answers]` of its file).
//!
//! | decision | answer |
//! |---|---|
//! | allow | no output, exit 0: the host's own permissions apply |
//! | ask | the host's own ask, in a mode that puts it to a person; otherwise the call is blocked, and the reason names the command that answers it |
//! | deny | the host's own deny, or exit 2 |
//! | undecided | exit 2, or what blocks where exit codes do not |
//!
//! A reason may quote untrusted text, so it is reduced to one line without control characters and of bounded length.

use super::Host;
use crate::untrusted::visible;
use crate::verdict::{Decision, Verdict};
use serde_json::Value;

/// Longest reason, in characters.
const LONGEST: usize = 600;
/// What stands for the reason in the file of a host.
const REASON: &str = "REASON";
/// What stands for the name of the event.
const EVENT: &str = "EVENT";

impl Host {
    /// The answer for a verdict. `says_allow`: print an explicit allow, which overrides the host's own permissions.
    /// `asks`: the host puts an ask to a person ([`Event::asks`](super::Event::asks)); otherwise an ask blocks, and the
    /// answer names the command that approves it.
    pub fn answer(self, verdict: &Verdict, says_allow: bool, asks: bool) -> Answer {
        self.answer_to(None, verdict, says_allow, asks)
    }

    /// The same, for an event with this name.
    pub(super) fn answer_to(self, event: Option<&str>, verdict: &Verdict, says_allow: bool, asks: bool) -> Answer {
        let said = |json: &str, reason: &str| self.said(event, json, reason);
        let answers = &self.profile().answers;
        let reason = reason(verdict);
        match verdict.decision {
            Decision::Allow => {
                let allow = answers.allow.as_deref().filter(|_| says_allow);
                allow.map_or_else(|| self.silence(), |allow| said(allow, &reason))
            }
            Decision::Ask => match answers.ask.as_deref().filter(|_| asks) {
                Some(ask) => said(ask, &reason),
                None => self.blocks(&format!(
                    "{reason}; to allow it once, a person runs: agrail approvals approve {}",
                    verdict.id
                )),
            },
            Decision::Deny => match &answers.deny {
                Some(deny) => said(deny, &reason),
                None => self.blocks(&format!("{reason}; the call is denied")),
            },
        }
    }

    /// The answer that says nothing: the host continues as it would without the hook.
    pub fn silence(self) -> Answer {
        match &self.profile().answers.silence {
            Some(silence) => self.said(None, silence, ""),
            None => Answer::silent(),
        }
    }

    /// The answer that blocks a call. `why` becomes one line.
    pub fn blocks(self, why: &str) -> Answer {
        let blocked = Answer::blocked(why);
        match &self.profile().answers.block {
            Some(block) => Answer { stderr: blocked.stderr.clone(), ..self.said(None, block, blocked.stderr.trim()) },
            None => blocked,
        }
    }

    /// Whether this output of a hook keeps the host from making the call.
    #[must_use]
    pub fn is_blocked_by(self, code: i32, stdout: &str) -> bool {
        let answers = &self.profile().answers;
        let said: Value = serde_json::from_str(stdout).unwrap_or_default();
        let no = [&answers.deny, &answers.block].into_iter().flatten();
        let mut no = no.filter_map(|json| serde_json::from_str(json).ok());
        code == 2 && answers.block.is_none() || code == 0 && no.any(|template: Value| is_filled(&template, &said))
    }

    /// The JSON of the host, with the reason and the name of the event in their places.
    fn said(self, event: Option<&str>, json: &str, reason: &str) -> Answer {
        let known = &self.profile().events.before;
        let named = event.and_then(|event| known.iter().find(|name| *name == event)).or(known.first());
        let mut json: Value = serde_json::from_str(json).unwrap_or_default();
        fill(&mut json, named.map(String::as_str).unwrap_or_default(), reason);
        Answer { stdout: format!("{json}\n"), stderr: String::new(), code: 0 }
    }
}

/// Whether a JSON is this one with its places filled.
fn is_filled(template: &Value, json: &Value) -> bool {
    match (template, json) {
        (Value::String(place), Value::String(text)) if place == REASON || place == EVENT => !text.trim().is_empty(),
        (Value::Object(fields), Value::Object(found)) => {
            fields.len() == found.len()
                && fields.iter().all(|(key, field)| found.get(key).is_some_and(|found| is_filled(field, found)))
        }
        (template, json) => template == json,
    }
}

fn fill(json: &mut Value, event: &str, reason: &str) {
    match json {
        Value::String(text) if text == REASON => reason.clone_into(text),
        Value::String(text) if text == EVENT => event.clone_into(text),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, event, reason)),
        _ => {}
    }
}

/// The output and exit code of the hook's process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Answer {
    /// Text for standard output.
    pub stdout: String,
    /// Text for standard error.
    pub stderr: String,
    /// Exit code: 0, or 2 to block.
    pub code: u8,
}

impl Answer {
    /// No output and exit code 0: the host continues as it would without the hook.
    pub fn silent() -> Self {
        Self { stdout: String::new(), stderr: String::new(), code: 0 }
    }

    /// Exit code 2, which blocks the call. `why` becomes one line on standard error.
    pub fn blocked(why: &str) -> Self {
        Self {
            stdout: String::new(),
            stderr: format!("agrail: {}\n", line(why).trim_start_matches("agrail: ")),
            code: 2,
        }
    }
}

fn reason(verdict: &Verdict) -> String {
    let advice = verdict.advice.as_deref().map(|advice| format!(" ({advice})")).unwrap_or_default();
    format!("agrail: {}{advice} [{}]", line(&verdict.reason), verdict.id)
}

/// The text as one line of visible characters, at most [`LONGEST`] of them and a mark where it was cut.
fn line(text: &str) -> String {
    let plain = visible(text);
    let mut line: String = plain.chars().take(LONGEST).collect();
    let more = plain.chars().count().saturating_sub(LONGEST);
    if more > 0 {
        line.push_str(&format!("… [{more} more characters]"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Guard;
    use crate::action::{Action, Context, Identity};

    async fn verdict(command: &str) -> Verdict {
        let guard = Guard::builder().build();
        let action = Action::Shell { command: command.to_owned(), cwd: None };
        match guard {
            Ok(guard) => guard.check(&action, &Context::new(Identity::default(), None)).await,
            Err(problem) => unreachable!("{problem}"),
        }
    }

    #[tokio::test]
    async fn answers_follow_each_hosts_protocol() {
        let said = |answer: &Answer| {
            let json: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
            let decision = json.pointer("/hookSpecificOutput/permissionDecision").and_then(|d| d.as_str());
            (decision.map(str::to_owned), answer.code)
        };
        let hosts = Host::ALL;
        let allow = verdict("echo hi").await;
        assert_eq!(allow.decision, Decision::Allow);
        for host in hosts {
            assert_eq!(host.answer(&allow, false, true), host.silence());
        }
        assert_eq!(said(&Host::ClaudeCode.answer(&allow, true, true)), (Some("allow".to_owned()), 0));
        assert_eq!(Host::Codex.answer(&allow, true, true), Answer::silent(), "Codex refuses a bare allow");
        let ask = verdict("frobnicate").await;
        assert_eq!(ask.decision, Decision::Ask);
        assert_eq!(said(&Host::ClaudeCode.answer(&ask, true, true)), (Some("ask".to_owned()), 0));
        for host in [Host::Codex, Host::Generic] {
            let answer = host.answer(&ask, true, true);
            assert_eq!((answer.code, answer.stdout.as_str()), (2, ""));
            assert!(answer.stderr.contains(&ask.id));
        }
        let dropped = Host::ClaudeCode.answer(&ask, true, false);
        assert!(dropped.code == 2 && dropped.stderr.contains(&format!("agrail approvals approve {}", ask.id)));
        let deny = verdict("rm -rf /usr").await;
        assert_eq!(deny.decision, Decision::Deny);
        assert_eq!(said(&Host::ClaudeCode.answer(&deny, true, true)), (Some("deny".to_owned()), 0));
        assert_eq!(said(&Host::Codex.answer(&deny, true, true)), (Some("deny".to_owned()), 0));
        assert_eq!(Host::Generic.answer(&deny, true, true).code, 2);
    }

    #[test]
    fn reason_is_one_plain_line() {
        let said = line(&format!("a\nb\u{1b}[2J\u{202e}{}", "x".repeat(2_000)));
        assert!(
            said.chars().count() <= LONGEST + 30 && !said.chars().any(char::is_control) && !said.contains('\u{202e}')
        );
    }
}
