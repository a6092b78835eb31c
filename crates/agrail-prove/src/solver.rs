//! The solver: cvc5 as a program, or as a package of Python.

use anyhow::{Result, bail};
use cedar_policy_symcc::solver::LocalSolver;
use std::ffi::OsString;
use std::fmt;
use std::process::{Command, Stdio};

/// Longest time for one question, in milliseconds.
const LIMIT_MS: &str = "20000";
/// Where it runs: Python loads what lies in its working folder, which may be anybody's.
const AWAY: &str = "/";
/// Oldest version that knows what the symbolic compiler writes.
const OLDEST: (u32, u32) = (1, 3);
/// Reads SMT-LIB from standard input for the library of the Python package, which has no program.
const SCRIPT: &str = include_str!("cvc5.py");

/// How to get one, for errors.
const HOW: &str = "proofs need the solver cvc5, 1.3 or later: python3 -m pip install cvc5, or set CVC5 to the path of \
                   its program (https://cvc5.github.io)";

/// A solver that is there.
#[derive(Debug)]
pub struct Solver {
    program: OsString,
    arguments: Vec<&'static str>,
    version: (u32, u32),
}

impl fmt::Display for Solver {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "cvc5 {}.{} ({})", self.version.0, self.version.1, self.program.to_string_lossy())
    }
}

impl Solver {
    /// The program that `CVC5` names, else `cvc5` on the search path, else the package of Python.
    ///
    /// # Errors
    /// If there is no solver, or only one that is too old; the error says how to install one.
    pub fn find() -> Result<Self> {
        let named = std::env::var_os("CVC5").filter(|path| !path.is_empty());
        let is_named = named.is_some();
        let program = named.map(std::path::absolute).transpose()?.map_or_else(|| "cvc5".into(), Into::into);
        let as_program = version(Command::new(&program).arg("--version"));
        match as_program {
            Some(version) if version >= OLDEST => {
                let arguments = vec!["--lang", "smt", "--tlimit-per", LIMIT_MS];
                return Ok(Self { program, arguments, version });
            }
            _ if is_named => bail!("CVC5 names {}, which is no cvc5 of 1.3 or later; {HOW}", program.to_string_lossy()),
            _ => {}
        }
        let in_python =
            version(Command::new("python3").args(["-c", "import cvc5; print('version', cvc5.__version__)"]));
        match in_python.or(as_program) {
            Some(version) if in_python.is_some() && version >= OLDEST => {
                Ok(Self { program: "python3".into(), arguments: vec!["-c", SCRIPT, LIMIT_MS], version })
            }
            Some((major, minor)) => bail!("cvc5 {major}.{minor} is too old; {HOW}"),
            None => bail!("no solver was found; {HOW}"),
        }
    }

    /// Starts it. It ends when it is dropped.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn start(&self) -> Result<LocalSolver> {
        let mut command = tokio::process::Command::new(&self.program);
        command.args(&self.arguments).current_dir(AWAY).kill_on_drop(true);
        Ok(LocalSolver::from_command(&mut command)?)
    }
}

/// The version that the program prints after the word "version".
fn version(command: &mut Command) -> Option<(u32, u32)> {
    let output = command.current_dir(AWAY).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = text.split_whitespace().skip_while(|word| *word != "version").skip(1);
    let mut numbers = words.next()?.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
