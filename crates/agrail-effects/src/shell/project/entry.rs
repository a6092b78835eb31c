//! Scripts with which a framework starts: `manage.py`, `artisan`, `bin/rails`.
//!
//! Such a script loads the project and hands its arguments to the framework, so a command like `manage.py migrate` is that
//! of the framework's own program. What the script certainly does besides counts.

use crate::shell::{Output, Shell};
use crate::{Effect, Target, UNKNOWN_SPAN, Verb};

/// Most folders of one that may be apps.
const MAX_APPS: usize = 32;
/// Most folders whose own folders may be apps.
const MAX_NESTED: usize = 8;

/// Ends of their paths, a part of their text, their language, and the program that they are.
const ENTRIES: [(&str, &str, &str, &str); 8] = [
    ("/manage.py", "execute_from_command_line", "python", "django-admin"),
    ("/artisan", "autoload.php", "php", "artisan"),
    ("/bin/rails", "rails/commands", "ruby", "rails"),
    ("/bin/rake", "rake", "ruby", "rake"),
    ("/bin/rspec", "rspec", "ruby", "rspec"),
    ("/bin/bundle", "bundler", "ruby", "bundle"),
    ("/bin/rubocop", "rubocop", "ruby", "rubocop"),
    ("/bin/console", "Symfony", "php", "console"),
];

impl Shell<'_> {
    /// Interprets the script of a framework at a path. `None` if it is no such script of the project, or something in this
    /// action writes it.
    pub(in crate::shell) fn entry_script(&mut self, path: &str, arguments: &[String]) -> Option<Output> {
        let (_, mark, language, program) = ENTRIES.iter().find(|(end, ..)| path.ends_with(end))?;
        let text = self.own_text(path).filter(|text| self.is_own_file(path) && text.contains(mark))?;
        crate::table::Table::shipped().row(program)?;
        self.step(|| format!("{path}: starts {program}"));
        self.add(Effect::new(Verb::Execute, Target::Path(path.to_owned()), program));
        self.certain(|shell| drop(shell.script(language, &text, path)));
        if let Some(command) = self.own_command(path, program, arguments) {
            self.step(|| format!("{command}: a command of the project"));
            // the name stands before the command's own words
            let words: Vec<String> =
                std::iter::once(UNKNOWN_SPAN.to_string()).chain(arguments.iter().cloned()).collect();
            return Some(self.run_file(&command, &words, Some(language)));
        }
        let words: Vec<String> = std::iter::once((*program).to_owned()).chain(arguments.iter().cloned()).collect();
        Some(self.simple(&words, Output::default()))
    }

    /// The file of a command that the project itself adds to Django: `APP/management/commands/NAME.py`, where an app is a
    /// folder of the project or of one of its folders.
    fn own_command(&self, script: &str, program: &str, arguments: &[String]) -> Option<String> {
        let name = arguments.iter().find(|word| !word.starts_with('-')).filter(|_| program == "django-admin")?;
        let elsewhere = |word: &String| word.starts_with("--pythonpath");
        if arguments.iter().any(elsewhere) || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let root = script.rsplit_once('/')?.0;
        let within = |folder: &str| -> Vec<String> {
            let names = self.around.names(folder).unwrap_or_default();
            let shown = names.folders.iter().filter(|name| !name.starts_with('.') && *name != "node_modules");
            shown.take(MAX_APPS).map(|name| format!("{folder}/{name}")).collect()
        };
        let outer = within(root);
        let apps: Vec<String> =
            outer.iter().cloned().chain(outer.iter().take(MAX_NESTED).flat_map(|folder| within(folder))).collect();
        let files = apps.into_iter().map(|app| format!("{app}/management/commands/{name}.py"));
        files.into_iter().find(|file| !self.around.is_missing(file) && self.is_untouched(file))
    }
}
