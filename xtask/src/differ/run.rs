//! Runs programs in a disposable root, one after the other, each in a fresh folder and under strace.

use super::Language;
use super::compare::{self, Outcome};
use super::source::{FILES, HOME, WORK};
use crate::trace;
use agrail_roots::Roots;
use anyhow::Result;
use std::collections::BTreeSet;
use std::time::Duration;

/// Time limit for the programs of one root.
pub const ROOT_LIMIT: Duration = Duration::from_secs(300);

/// Runs the programs with these numbers and compares each with its reading.
pub fn chunk(roots: &Roots, language: Language, numbers: &[u64]) -> Result<Vec<Outcome>> {
    let root = roots.case("differ", Some(&script(language, numbers)?))?;
    let outcome = |number: &u64| {
        let file = |kind: &str| std::fs::read(root.path().join(format!("differ/{number}.{kind}")));
        let status: Option<i32> =
            file("status").ok().and_then(|text| String::from_utf8_lossy(&text).trim().parse().ok());
        // one that was ended did what it did; one without a trace may not have run
        let trace = file("trace").unwrap_or_default();
        let events = trace::parse_trace(&String::from_utf8_lossy(&trace), WORK);
        let ended = trace.is_empty() || status.is_none_or(|status| status == 124 || status == 137);
        compare::judge(*number, language, &events, ended)
    };
    Ok(numbers.iter().map(outcome).collect())
}

/// The script that makes the files and runs the programs.
fn script(language: Language, numbers: &[u64]) -> Result<String> {
    let (ending, interpreter) = language.file();
    let mut script = format!("mkdir -p /differ/start /differ/programs {HOME}\ncd /differ/start\n");
    let folders: BTreeSet<&str> = FILES.iter().filter_map(|(name, _)| Some(name.rsplit_once('/')?.0)).collect();
    for folder in folders {
        script.push_str(&format!("mkdir -p {}\n", shlex::try_quote(folder)?));
    }
    for (name, text) in FILES {
        script.push_str(&format!("printf %s {} > {}\n", shlex::try_quote(text)?, shlex::try_quote(name)?));
    }
    script.push_str("chmod +x *.sh\n");
    for number in numbers {
        let source = language.program(*number).source;
        script.push_str(&format!(
            "printf %s {} > /differ/programs/program.{number}.{ending}\n",
            shlex::try_quote(&source)?
        ));
    }
    script.push_str(&format!("real=$(command -v {interpreter}); real=$(readlink -f \"$real\")\n"));
    for number in numbers {
        script.push_str(&format!(
            "cd / && rm -rf {HOME} /tmp/t* && mkdir {HOME} && cp -a /differ/start {WORK} && cd {WORK} && \
             HOME={HOME} PWD={WORK} timeout -s KILL 10 strace --seccomp-bpf -f -y -qq -s 4096 -e trace={} -e signal=none \
             -o /differ/{number}.trace \"$real\" /differ/programs/program.{number}.{ending} </dev/null >/dev/null 2>&1\n\
             echo $? > /differ/{number}.status\n",
            trace::CALLS,
        ));
    }
    Ok(script)
}
