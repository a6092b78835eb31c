//! Scripts that build tools put into a project to fetch and start themselves: `gradlew`, `mvnw`.
//!
//! Such a script computes nearly everything at run time, and what it starts then runs the project's build, which is the
//! project's code anyway. So what it does on constant targets counts, what depends on the machine does not, and the
//! arguments are those of the build tool. Where the tool comes from is in its settings, and has to be its registry.

use crate::shell::content::Content;
use crate::shell::{Output, Shell};
use crate::{Cause, Effect, Target, Verb};

/// Names of the scripts, the files with their settings, and the hosts from which the tool may come.
const WRAPPERS: [(&str, &str, &[&str]); 2] = [
    (
        "gradlew",
        "gradle/wrapper/gradle-wrapper.properties",
        &["services.gradle.org", "downloads.gradle.org", "downloads.gradle-dn.com"],
    ),
    (
        "mvnw",
        ".mvn/wrapper/maven-wrapper.properties",
        &["repo.maven.apache.org", "repo1.maven.org", "archive.apache.org"],
    ),
];

impl Shell<'_> {
    /// Interprets the wrapper script at a path. `None` if the file is no such script, or something in this action writes
    /// it or its settings.
    pub(in crate::shell) fn wrapper_script(
        &mut self,
        path: &str,
        arguments: &[String],
        stdin: &Output,
    ) -> Option<Output> {
        let (folder, base) = path.rsplit_once('/')?;
        let (program, settings, hosts) = WRAPPERS.iter().find(|(program, ..)| *program == base)?;
        let text = self.own_text(path)?;
        let settings = format!("{folder}/{settings}");
        let source = match self.own_text(&settings) {
            Some(settings) => settings.lines().all(|line| is_from(line, hosts)),
            None => self.around.is_missing(&settings),
        };
        let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let addresses = code.flat_map(|line| line.split(['"', '\'', ' ', '=', ';', ')', '}', '(']));
        let foreign =
            addresses.filter(|word| word.contains("://")).any(|word| !is_from(word, hosts) && !word.contains('$'));
        if !text.contains("wrapper") {
            return None;
        }
        if !source || foreign {
            let why = "it fetches the build tool from a place that is not the tool's own";
            self.unknown(Cause::Program, &format!("{path}: {why}"), program);
            return None;
        }
        self.step(|| format!("{path}: starts the build tool of the project"));
        let before = self.reading.effects.len();
        let state = self.state.fork();
        self.run_file(path, arguments, None);
        self.state = state;
        let own = self.reading.effects.split_off(before.min(self.reading.effects.len()));
        let computed = |effect: &Effect| effect.verb == Verb::Unknown && effect.operation == Cause::Dynamic.as_str();
        let constant = |effect: &Effect| !effect.dynamic() && !computed(effect);
        self.reading.effects.extend(own.into_iter().filter(constant));
        self.add(Effect::new(Verb::Execute, Target::Path(path.to_owned()), program));
        let words: Vec<String> = std::iter::once((*program).to_owned()).chain(arguments.iter().cloned()).collect();
        Some(self.simple(&words, stdin.clone()))
    }

    /// The text of a file that nothing in this action writes.
    pub(in crate::shell) fn own_text(&self, path: &str) -> Option<String> {
        let untouched = self.contents(path).iter().all(|content| matches!(content, Content::Before(at) if at == path));
        let bytes = self.around.script(path, crate::shell::MAX_SOURCE).ok().filter(|_| untouched)?;
        String::from_utf8(bytes).ok()
    }
}

/// Whether a line of the settings names no address, or one of these hosts.
fn is_from(line: &str, hosts: &[&str]) -> bool {
    let line = line.trim().replace('\\', "");
    if line.starts_with('#') || !line.contains("://") {
        return true;
    }
    let address = line.split_once('=').map_or(line.as_str(), |(_, address)| address).trim();
    url::Url::parse(address)
        .is_ok_and(|url| url.scheme() == "https" && url.host_str().is_some_and(|host| hosts.contains(&host)))
}
