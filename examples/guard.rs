//! The library example of the README.

use agrail::{Action, Context, Decision, Guard, Identity, machine::Environment};
use std::path::Path;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let guard = Guard::builder().build()?; // Send + Sync, cheap to clone
    let identity = Identity { name: "alice".to_owned(), ..Identity::default() };
    let context =
        Context::new(identity, Some(Environment::open(Path::new("/"))?)).with_request("tidy up the build folder");
    for command in ["rm -rf ~/project/build", "rm -rf /etc"] {
        let action = Action::Shell { command: command.to_owned(), cwd: None };
        let verdict = guard.check(&action, &context).await; // always a verdict, never an error
        match verdict.decision {
            Decision::Allow => println!("{command}: go ahead"),
            Decision::Ask => println!("{command}: ask a person: {}", verdict.reason),
            Decision::Deny => println!("{command}: no: {}", verdict.reason),
        }
    }
    Ok(())
}
