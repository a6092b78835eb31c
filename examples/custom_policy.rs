//! A custom policy beside the shipped ones, with an example that is verified when the policy is loaded.
//!
//!     cargo run --release --example custom_policy

use agrail::policy::{Policy, Source};
use agrail::{Action, Context, Guard, Identity};

const RULES: &str = r#"
@id("no-push-on-friday")
@category("integrity")
@check("release calendar")
@decision("ask")
@reason("releases are frozen, so nothing is pushed without a person")
forbid (principal, action == Action::"send", resource)
when { context.program == "git" };
"#;

const EXAMPLES: &str = r#"
[[example]]
policy = "no-push-on-friday"
expect = "ask"
subject = { name = "a", known = true }
effect = { verb = "send", kind = "url", name = "origin", class = "url", program = "git" }
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let source = Source {
        file: "team.cedar".to_owned(),
        text: RULES.to_owned(),
        examples: Some(EXAMPLES.to_owned()),
        organisation: false,
    };
    let guard = Guard::builder().policy(Policy::load(&[source])?).build()?;
    let context = Context::new(Identity::default(), None).with_request("publish the branch");
    for command in ["git status", "git push origin main"] {
        let verdict = guard.check(&Action::Shell { command: command.to_owned(), cwd: None }, &context).await;
        println!("{:5} {command}: {}", verdict.decision, verdict.reason);
    }
    Ok(())
}
