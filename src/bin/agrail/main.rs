//! The command line `agrail`: one file per subcommand, each a thin layer over the library.

/// Like the macro of the standard library, but a failed write ends the program with exit code 1 instead of a panic: the
/// disk may be full, or the reader gone.
macro_rules! println {
    ($($what:tt)*) => { $crate::exit::print(format_args!($($what)*), "\n") };
}
macro_rules! print {
    ($($what:tt)*) => { $crate::exit::print(format_args!($($what)*), "") };
}

mod accepted;
mod approvals;
mod ask;
mod audit;
mod built;
mod canary;
mod check;
mod config;
mod daemon;
mod demo;
mod destinations;
mod doctor;
mod effects;
mod evolve;
mod exit;
mod forget;
mod hook;
mod install;
mod layers;
mod learn;
mod log;
mod mcp;
mod memory;
mod model;
mod notify;
mod organisation;
mod pause;
mod policy;
mod profile;
mod research;
mod rows;
mod serve;
mod settings;
mod settled;
mod short;
mod show;
mod tool;
mod tune;
mod widen;

use anyhow::Context as _;
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// A guardrail for LLM agents: allow, ask or deny, with reasons, before the agent acts.
///
/// Try it: agrail demo
///
/// Check a command: agrail check 'rm -rf /etc'
///
/// The decision rests on a real parse of the command, on facts read from the machine (does the target exist, who owns
/// it, who may change it), on Cedar policies, and on earlier feedback. It needs no model and no network. Exit codes of
/// `check`: 0 allow, 2 deny, 3 ask, 1 failure.
#[derive(Debug, Parser)]
#[command(name = "agrail", version, max_term_width = 100, help_template = include_str!("help.txt"))]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// The same command line with the hook alone. A host waits for it before each call, and all the other subcommands take a
/// while to describe.
#[derive(Debug, Parser)]
#[command(name = "agrail", version, max_term_width = 100)]
struct HookCli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: HookCommand,
}

#[derive(Debug, Subcommand)]
enum HookCommand {
    Hook(hook::Args),
}

/// What every subcommand takes.
#[derive(Debug, clap::Args)]
struct Global {
    /// Configuration file (TOML); default: $XDG_CONFIG_HOME/agrail/config.toml if it exists; /dev/null: no file.
    #[arg(long, global = true, env = "AGRAIL_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set SECTION.KEY=VALUE, overriding the file and the environment; repeatable.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    log: log::Log,
}

impl Global {
    /// Starts the log and reads the configuration.
    fn begin(self, quiet: bool) -> anyhow::Result<settings::Config> {
        self.log.begin(quiet)?;
        layers::load(&layers::Places { named: self.config, sets: self.set })
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    Approvals(approvals::Args),
    Ask(ask::Args),
    Audit(audit::Args),
    Check(check::Args),
    Config(config::Args),
    Daemon(daemon::Args),
    Demo(demo::Args),
    Destinations(destinations::Args),
    Effects(effects::Args),
    Evolve(evolve::Args),
    Forget(forget::Args),
    Hook(hook::Args),
    Install(install::Args),
    Learn(learn::Args),
    Mcp(mcp::Args),
    Memory(memory::Args),
    Notify(notify::Args),
    Pause(pause::Args),
    Policy(policy::Args),
    Research(research::Args),
    Serve(serve::Args),
    Tune(tune::Args),
    Doctor(doctor::Args),
    /// Print a completion script for a shell: `agrail completions bash > /etc/bash_completion.d/agrail`
    Completions {
        /// Shell to complete for.
        shell: clap_complete::Shell,
    },
    /// Write man pages, one for each command, into a folder: `agrail manual ~/.local/share/man/man1`
    Manual {
        /// Folder; it is made if it does not exist.
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    agrail::replay::sandbox::dispatch();
    if hook::asked(std::env::args_os().skip(1)) {
        return hook::guarded(|| {
            answer(std::env::args_os().collect(), |HookCli { global, command: HookCommand::Hook(args) }| {
                hook::run(&args, &global.begin(true)?)
            })
        });
    }
    answer(words(), run)
}

/// The command line, with `check` before a command that is all there is: `agrail 'rm -rf build'`.
fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if let [_, word] = words.as_slice()
        && let Some(word) = word.to_str().filter(|word| is_command(word))
    {
        let word = OsString::from(word);
        words = ["agrail", "check", "--"].map(OsString::from).into();
        words.push(word);
    }
    words
}

/// Whether a word is a shell command and no subcommand: it has several words, or is a program of this machine.
fn is_command(word: &str) -> bool {
    let is_subcommand = || Cli::command().get_subcommands().any(|one| one.get_name() == word) || word == "help";
    let is_program = || {
        let places = std::env::var_os("PATH").unwrap_or_default();
        !word.contains('/') && std::env::split_paths(&places).any(|folder| folder.join(word).is_file())
    };
    let plain = !word.is_empty() && !word.starts_with('-');
    plain && (word.trim().contains(char::is_whitespace) || (!is_subcommand() && is_program()))
}

fn answer<C: Parser>(words: Vec<OsString>, run: impl FnOnce(C) -> anyhow::Result<ExitCode>) -> ExitCode {
    match C::try_parse_from(words).map(run) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => exit::failure(&error),
        Err(error) => exit::usage(&error),
    }
}

fn run(Cli { global, command }: Cli) -> anyhow::Result<ExitCode> {
    let config = global.begin(matches!(command, Command::Hook(_) | Command::Daemon(_)))?;
    match command {
        Command::Approvals(args) => approvals::run(&args, &config),
        Command::Ask(args) => ask::run(&args, &config),
        Command::Audit(args) => audit::run(&args, &config),
        Command::Check(args) => check::run(&args, &config),
        Command::Config(args) => config::run(&args, &config),
        Command::Daemon(args) => daemon::run(&args, &config),
        Command::Demo(args) => demo::run(&args),
        Command::Destinations(args) => destinations::run(&args, &config),
        Command::Effects(args) => effects::run(&args),
        Command::Mcp(args) => mcp::run(&args, &config),
        Command::Learn(args) => learn::run(args, &config),
        Command::Memory(args) => memory::run(args, &config),
        Command::Notify(args) => notify::run(&args, &config),
        Command::Pause(args) => pause::run(&args, &config),
        Command::Policy(args) => policy::run(&args, &config),
        Command::Evolve(args) => evolve::run(&args, &config),
        Command::Forget(args) => forget::run(&args, &config),
        Command::Hook(args) => hook::run(&args, &config),
        Command::Install(args) => install::run(&args, &config),
        Command::Research(args) => research::run(&args, &config),
        Command::Serve(args) => serve::run(&args, &config),
        Command::Tune(args) => tune::run(&args, &config),
        Command::Doctor(args) => doctor::run(&args, &config),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "agrail", &mut script);
            print!("{}", String::from_utf8_lossy(&script));
            Ok(ExitCode::SUCCESS)
        }
        Command::Manual { folder } => {
            std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
            clap_mangen::generate_to(Cli::command(), &folder)
                .with_context(|| format!("cannot write into {}", folder.display()))?;
            println!("wrote the pages into {}; read them with: man {0}/agrail.1", folder.display());
            Ok(ExitCode::SUCCESS)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_each_command_once() {
        let help = Cli::command().render_help().to_string();
        let mut command = Cli::command();
        command.build();
        for one in command.get_subcommands() {
            let begin = format!("  {} ", one.get_name());
            assert_eq!(help.lines().filter(|line| line.starts_with(&begin)).count(), 1, "{}: {help}", one.get_name());
        }
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}
