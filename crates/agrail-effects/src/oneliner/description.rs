//! The description of a language, as it is written and as `build.rs` compiles it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A description as it is written.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Description {
    /// Marks that begin a comment up to the end of the line.
    pub comments: Vec<String>,
    /// Beginnings and ends of other comments.
    pub blocks: Vec<[String; 2]>,
    pub quotes: Vec<Quote>,
    /// A mark around a command line that runs.
    pub command: Option<char>,
    /// Characters that begin a variable.
    pub sigils: String,
    /// Characters of words besides letters, digits and `_`.
    pub word: String,
    /// Marks between an object and its member.
    pub members: Vec<String>,
    /// How the source is split where languages differ.
    pub syntax: Vec<Syntax>,
    /// Marks by which a variable gets a value.
    pub assigns: Vec<String>,
    /// Words after which a name is defined: of a function, of variables.
    pub functions: String,
    pub binders: String,
    /// Words of the grammar.
    pub keywords: String,
    /// Functions, constants and objects without effects; `name.*` covers all members.
    pub inert: String,
    /// Methods without effects of any object that inert words make.
    pub methods: String,
    /// Words after which the name of a module follows.
    pub modules: String,
    /// Ways to write the folder of the user.
    pub homes: Vec<String>,
    /// Functions that make a path of their arguments, and those that return the path that they get.
    pub joins: String,
    pub same: String,
    /// Words with an effect of their own, which a definition does not take from them; their effect is unknown.
    pub acts: String,
    /// Other names of the language's own modules that reach beyond the program: unknown even in a project's own code, in
    /// which any name that is not listed here is that of the project or of one of its packages. Empty: that is not known.
    pub system: String,
    /// Variables whose change has an effect.
    pub variables: String,
    /// Functions that call one of their arguments, and its index.
    pub callbacks: BTreeMap<String, usize>,
    /// Effects: role and place of the target; several are separated by a semicolon.
    pub calls: BTreeMap<String, String>,
}

/// Marks around a text.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quote {
    /// The mark at its beginning and, if it is not the same, at its end.
    pub open: String,
    pub close: Option<String>,
    /// Whether a backslash escapes the next character.
    pub escapes: bool,
    /// Beginnings of code within it, each of which ends with an opening bracket.
    pub code: Vec<String>,
    /// Characters with which a variable begins.
    pub variables: String,
}

/// How source is split where languages differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Syntax {
    /// A `/` where a value is expected begins a regular expression.
    Patterns,
    /// A `/` after a name divides: the language calls nothing without parentheses.
    Divides,
    /// `q//`, `s///` and other quoting words.
    Perl,
    /// `%w[]`, `?c`, `:symbol` and here-documents.
    Ruby,
    /// Long brackets.
    Lua,
    /// `%in%`.
    Infix,
    /// `'` after a value is an operator, otherwise a character.
    Characters,
    /// A word that no parenthesis follows is a variable or a constant.
    Bare,
    /// A word in upper case that no parenthesis follows is a constant or a handle.
    Upper,
    /// Calls need no parentheses.
    Spaced,
    /// A text does not change by what happens to other variables: a variable with one value keeps it.
    Values,
    /// `print > FILE`, `print | COMMAND`, `COMMAND | getline`.
    Redirects,
}
