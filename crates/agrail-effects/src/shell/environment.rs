//! Environment variables that decide which code later programs run, and from where.

use super::registry::is_public;
use super::{Output, Shell, UNKNOWN_SPAN};
use crate::{Detail, Effect, Kind, Target, Verb};

/// What programs do with the value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Run it as a command line.
    Command,
    /// Load code from these folders or files, separated by colons.
    Code,
    /// Fetch packages from this address.
    Source,
    /// A file of settings of a package manager.
    Settings,
    /// Send their traffic through this address.
    Proxy,
    /// Skip the verification of servers or packages if it is this value; an empty text: any value.
    Unverified(&'static str),
}

const VARIABLES: &[(&str, Use)] = &[
    ("AR", Use::Command),
    ("AS", Use::Command),
    ("CC", Use::Command),
    ("CPP", Use::Command),
    ("CVC5", Use::Command),
    ("CXX", Use::Command),
    ("FC", Use::Command),
    ("HOSTCC", Use::Command),
    ("LD", Use::Command),
    ("MAKE", Use::Command),
    ("NODE", Use::Command),
    ("PYTHON", Use::Command),
    ("RUSTC", Use::Command),
    ("RUSTDOC", Use::Command),
    ("SHELL", Use::Command),
    ("YACC", Use::Command),
    ("CLASSPATH", Use::Code),
    ("GCONV_PATH", Use::Code),
    ("GEM_PATH", Use::Code),
    ("GIO_MODULE_DIR", Use::Code),
    ("GTK_PATH", Use::Code),
    ("GUILE_LOAD_PATH", Use::Code),
    ("LUA_CPATH", Use::Code),
    ("LUA_PATH", Use::Code),
    ("NODE_PATH", Use::Code),
    ("OPENSSL_CONF", Use::Code),
    ("OPENSSL_ENGINES", Use::Code),
    ("OPENSSL_MODULES", Use::Code),
    ("PERL5LIB", Use::Code),
    ("PERLLIB", Use::Code),
    ("PYTHONHOME", Use::Code),
    ("PYTHONPATH", Use::Code),
    ("PYTHONUSERBASE", Use::Code),
    ("QT_PLUGIN_PATH", Use::Code),
    ("RUBYLIB", Use::Code),
    ("R_LIBS", Use::Code),
    ("TCLLIBPATH", Use::Code),
    ("VIMINIT", Use::Code),
    ("BUNDLE_MIRROR__ALL", Use::Source),
    ("BUNDLE_APP_CONFIG", Use::Settings),
    ("GOENV", Use::Settings),
    ("NPM_CONFIG_USERCONFIG", Use::Settings),
    ("PIP_CONFIG_FILE", Use::Settings),
    ("UV_CONFIG_FILE", Use::Settings),
    ("GOPROXY", Use::Source),
    ("GEM_SOURCE", Use::Source),
    ("NPM_CONFIG_REGISTRY", Use::Source),
    ("PIP_EXTRA_INDEX_URL", Use::Source),
    ("PIP_FIND_LINKS", Use::Source),
    ("PIP_INDEX_URL", Use::Source),
    ("RUSTUP_DIST_SERVER", Use::Source),
    ("UV_DEFAULT_INDEX", Use::Source),
    ("UV_EXTRA_INDEX_URL", Use::Source),
    ("UV_INDEX", Use::Source),
    ("UV_INDEX_URL", Use::Source),
    ("YARN_REGISTRY", Use::Source),
    ("ALL_PROXY", Use::Proxy),
    ("FTP_PROXY", Use::Proxy),
    ("HTTPS_PROXY", Use::Proxy),
    ("HTTP_PROXY", Use::Proxy),
    ("GIT_SSL_NO_VERIFY", Use::Unverified("")),
    ("GOINSECURE", Use::Unverified("")),
    ("GONOSUMCHECK", Use::Unverified("")),
    ("NODE_TLS_REJECT_UNAUTHORIZED", Use::Unverified("0")),
    ("PYTHONHTTPSVERIFY", Use::Unverified("0")),
];

/// The use of a variable: a listed one, `CARGO_TARGET_..._RUNNER` and `_LINKER`, and `CARGO_REGISTRIES_..._INDEX`.
fn use_of(name: &str) -> Option<Use> {
    let upper = name.to_ascii_uppercase();
    let named = VARIABLES.iter().find(|(known, used)| {
        // programs read both spellings of these
        let folds = matches!(used, Use::Proxy | Use::Source);
        *known == name || (folds && *known == upper)
    });
    if let Some((_, used)) = named {
        return Some(*used);
    }
    if upper.starts_with("CARGO_TARGET_") && (upper.ends_with("_RUNNER") || upper.ends_with("_LINKER")) {
        return Some(Use::Command);
    }
    (upper.starts_with("CARGO_REGISTRIES_") && upper.ends_with("_INDEX")).then_some(Use::Source)
}

impl Shell<'_> {
    /// Adds the effects of a variable that decides on code.
    pub(super) fn environment(&mut self, name: &str, value: &str) {
        match use_of(name) {
            Some(Use::Command) => self.command_variable(name, value),
            Some(Use::Code) => {
                for path in value.split([':', ';']).filter(|path| !path.is_empty() && !path.starts_with(UNKNOWN_SPAN)) {
                    let mut effect = self.at(Verb::Execute, path, name);
                    "load".clone_into(&mut effect.operation);
                    self.add(effect);
                }
            }
            Some(Use::Settings) => self.survey_settings(value, name),
            Some(Use::Source) => {
                for address in value.split([',', '|', ' ']).filter(|address| !is_public(address)) {
                    self.packages_from(address, name);
                }
            }
            Some(Use::Proxy) if !value.is_empty() => self.variable_effect(name, "proxy", value),
            Some(Use::Unverified(off)) if !value.is_empty() && (off.is_empty() || off == value) => {
                self.variable_effect(name, "unverified", value);
            }
            _ => {}
        }
    }

    /// Adds the effect of a source of packages that is not a public registry.
    pub(super) fn packages_from(&mut self, address: &str, program: &str) {
        let target = Target::Named(Kind::Package, address.to_owned());
        let mut effect = Effect::new(Verb::Install, target, program);
        "source".clone_into(&mut effect.operation);
        self.add(effect);
    }

    /// A program with flags (`gcc -m32`) is a compiler; anything else is a command line.
    fn command_variable(&mut self, name: &str, value: &str) {
        let mut words = value.split_whitespace();
        let bare = words.next().is_none_or(|program| !program.contains('/'));
        if bare && words.all(|word| word.starts_with('-') && word.len() > 2) {
            return;
        }
        self.child(name, |shell| shell.nested(name, value, Output::default()));
    }

    pub(super) fn variable_effect(&mut self, name: &str, operation: &str, value: &str) {
        let mut effect = Effect::new(Verb::Variable, Target::Named(Kind::Variable, name.to_owned()), "shell");
        operation.clone_into(&mut effect.operation);
        effect.detail = Detail::Value(value.to_owned());
        self.add(effect);
    }
}
