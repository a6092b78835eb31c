//! Translates a verdict into the protocol of a host.
//!
//! | decision | Claude Code | Codex | any other host |
//! |---|---|---|---|
//! | allow | no output, exit 0: the host's own permissions apply | the same | the same |
//! | ask | `permissionDecision: ask`; exit 2 in a mode that drops asks | exit 2: Codex would run the call | exit 2 |
//! | deny | `permissionDecision: deny` | the same | exit 2 |
//! | undecided | exit 2 | exit 2 | exit 2 |
//!
//! A reason may quote untrusted text, so it is reduced to one line without control characters and of bounded length.

use super::Host;
use crate::untrusted::visible;
use crate::verdict::{Decision, Verdict};
use serde_json::json;

/// Longest reason, in characters.
const REASON: usize = 600;

impl Host {
    /// The answer for a verdict. `says_allow`: print an explicit allow, which overrides the host's own permissions.
    /// `asks`: the host puts an ask to a person ([`Event::asks`](super::Event::asks)); otherwise an ask blocks, and the
    /// answer names the command that approves it.
    pub fn answer(self, verdict: &Verdict, says_allow: bool, asks: bool) -> Answer {
        let reason = reason(verdict);
        let (decision, block) = match (verdict.decision, self) {
            (Decision::Allow, Self::ClaudeCode) if says_allow => ("allow", false),
            (Decision::Allow, _) => return Answer::silent(),
            (Decision::Ask, Self::ClaudeCode) if asks => ("ask", false),
            (Decision::Ask, _) => ("ask", true),
            (Decision::Deny, Self::Generic) => ("deny", true),
            (Decision::Deny, _) => ("deny", false),
        };
        if block {
            let waits = format!("to allow it once, a person runs: agrail approvals approve {}", verdict.id);
            let how = if verdict.decision == Decision::Ask { waits } else { "the call is denied".to_owned() };
            return Answer::blocked(&format!("{reason}; {how}"));
        }
        let output = json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }});
        Answer { stdout: format!("{output}\n"), stderr: String::new(), code: 0 }
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

/// The text as one line of visible characters, at most [`REASON`] of them and a mark where it was cut.
fn line(text: &str) -> String {
    let plain = visible(text);
    let mut line: String = plain.chars().take(REASON).collect();
    let more = plain.chars().count().saturating_sub(REASON);
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
            assert_eq!(host.answer(&allow, false, true), Answer::silent());
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
            said.chars().count() <= REASON + 30 && !said.chars().any(char::is_control) && !said.contains('\u{202e}')
        );
    }
}
