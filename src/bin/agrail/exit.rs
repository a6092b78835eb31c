//! Exit codes: 0 allow, 2 deny, 3 ask, 1 failure of any kind.

use agrail::verdict::Decision;
use std::process::ExitCode;

/// The code for a decision.
pub fn decision(decision: Decision) -> ExitCode {
    ExitCode::from(match decision {
        Decision::Allow => 0,
        Decision::Deny => 2,
        Decision::Ask => 3,
    })
}

/// Help and version are not failures; clap's own exit code 2 would mean deny.
pub fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

/// Prints to standard output. If that fails, the process ends: output that was lost must not count as delivered.
pub fn print(what: std::fmt::Arguments<'_>, end: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    if let Err(problem) = out.write_fmt(what).and_then(|()| out.write_all(end.as_bytes())).and_then(|()| out.flush()) {
        if problem.kind() != std::io::ErrorKind::BrokenPipe {
            let _ = writeln!(std::io::stderr(), "agrail: cannot write to standard output: {problem}");
        }
        std::process::exit(1);
    }
}

/// Prints the error with its causes.
pub fn failure(error: &anyhow::Error) -> ExitCode {
    if let Some(io) = error.downcast_ref::<std::io::Error>()
        && io.kind() == std::io::ErrorKind::BrokenPipe
    {
        return ExitCode::from(1);
    }
    anstream::eprintln!(
        "{}agrail:{:#} {error:#}",
        anstyle::AnsiColor::Red.on_default(),
        anstyle::AnsiColor::Red.on_default()
    );
    ExitCode::from(1)
}
