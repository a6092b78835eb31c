//! `agrail effects 'COMMAND'`: what a shell command would do, and how that was found.

use agrail::effect::shell;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [verb, command] if verb == "effects" => {
            let reading = shell::read(command, "user", "/home/user", "/home/user", &shell::Nowhere);
            for step in &reading.steps {
                println!("{step}");
            }
            println!();
            for effect in &reading.effects {
                println!("{:10} {}", effect.verb.as_str(), effect.target);
            }
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: agrail effects 'COMMAND'   e.g. agrail effects 'echo cm0gLXJmIC8= | base64 -d | sh'");
            ExitCode::from(1)
        }
    }
}
