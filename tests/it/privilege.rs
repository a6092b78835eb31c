//! More privilege never makes a verdict milder, and the headline tells the harm.

use crate::guard::{context, decide};
use crate::profiles::profile;
use agrail::check::{Finding, Severity};
use agrail::effect::Kind;
use agrail::effect::Verb;
use agrail::machine::Class;
use agrail::policy::{EffectFacts, Policy, Subject};
use agrail::policy::{Known, TargetClass};
use agrail::verdict::decide as gate;
use agrail::{Decision, Guard, Verdict};
use strum::VariantArray as _;

const OPERATIONS: [&str; 9] = ["", "create", "delete", "password", "stop", "drop", "lock", "run", "to"];

/// What the findings decide where a missing permission is set aside.
fn set_aside(findings: &[Finding]) -> Decision {
    let left: Vec<Finding> = findings.iter().filter(|f| f.severity() != Severity::Access).cloned().collect();
    if left.is_empty() { Decision::Allow } else { gate(&left).0 }
}

#[test]
fn no_policy_is_milder_with_privilege() {
    let policy = Policy::load(&["ehr", "web"].map(profile)).unwrap();
    let subject = Subject { name: "a".to_owned(), known: true, ..Subject::default() };
    let superuser = Subject { superuser: true, ..subject.clone() };
    let mut place = 0_u32;
    for verb in Verb::ALL.iter().copied() {
        let classes = Class::VARIANTS.iter().copied().map(TargetClass::Path).chain([TargetClass::Unresolved]);
        for class in classes {
            for operation in OPERATIONS {
                for bits in 0_u32..256 {
                    // a part of the grid, spread over it: the whole takes minutes
                    place += 1;
                    if !place.is_multiple_of(31) {
                        continue;
                    }
                    let bit = |n: u32| bits & (1 << n) != 0;
                    let mut query = EffectFacts::new(verb, Kind::Path, "/somewhere/x");
                    query.class = class;
                    operation.clone_into(&mut query.operation);
                    query.exists = [Known::Yes, Known::No][usize::from(bit(0))];
                    query.parent = [Known::Yes, Known::No][usize::from(bit(1))];
                    (query.owned_by_subject, query.is_root_of_class, query.is_prefix) = (bit(2), bit(3), bit(4));
                    (query.recursive, query.keep, query.unresolved) = (bit(5), bit(6), bit(7));
                    query.access = if bit(2) { Known::Yes } else { Known::No };
                    let plain = set_aside(&policy.screen(&subject, &query));
                    query.runs_as_root = true;
                    query.access = Known::Yes;
                    let by_root = set_aside(&policy.screen(&superuser, &query));
                    query.privileged = true;
                    let raised = set_aside(&policy.screen(&subject, &query));
                    assert!(raised >= plain && by_root >= plain, "{plain} {raised} {by_root}: {query:?}");
                }
            }
        }
    }
}

fn harm(verdict: &Verdict) -> Decision {
    set_aside(&verdict.findings)
}

#[tokio::test]
async fn sudo_makes_no_verdict_milder() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path(), "user");
    let guard = Guard::builder().build().unwrap();
    for command in [
        "rm -rf ~",
        "rm -rf /home/maria",
        "cat /etc/shadow",
        "useradd eve",
        "userdel maria",
        "chmod 777 /etc/passwd",
        "cat /root/notes",
        "touch /root/x",
        "rm -r /usr/bin",
        "kill 1",
        "systemctl stop ufw",
        "mount /dev/sda1 /mnt",
        "frobnicate /etc",
        "cp notes.txt /home/maria/",
        "crontab -r",
        "dd if=/dev/zero of=/dev/sda",
        "ls",
        "rm notes.txt",
    ] {
        let plain = decide(&guard, &context, command).await;
        for wrapper in ["sudo", "sudo -u root", "doas", "pkexec", "sudo sh -c"] {
            let raised = match wrapper {
                "sudo sh -c" => format!("sudo sh -c '{command}'"),
                _ => format!("{wrapper} {command}"),
            };
            let raised = decide(&guard, &context, &raised).await;
            assert!(harm(&raised) >= harm(&plain), "{wrapper} {command}: {} -> {}", plain.reason, raised.reason);
        }
    }
}

#[tokio::test]
async fn the_headline_is_the_harm() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path(), "user");
    let guard = Guard::builder().build().unwrap();
    for (command, says) in [
        ("rm -rf ~", "whole home"),
        ("rm -rf /home/maria", "another person's home"),
        ("rm -rf /etc", "removes or exposes files that this machine needs"),
        ("frobnicate; rm -rf /etc", "removes or exposes files that this machine needs"),
    ] {
        let verdict = decide(&guard, &context, command).await;
        assert!(verdict.reason.contains(says), "{command}: {}", verdict.reason);
    }
}

#[test]
fn no_advice_is_to_take_more_privilege() {
    for rule in Policy::load(&["ehr", "web"].map(profile)).unwrap().rules() {
        let advice = rule.advice.clone().unwrap_or_default().to_lowercase();
        let takes = ["sudo", "as root", "act as", "with privilege", "as the superuser", "superuser"];
        assert!(!takes.iter().any(|words| advice.contains(words)), "{}: {advice}", rule.id);
    }
}
