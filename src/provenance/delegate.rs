//! What the user's request delegates: to whom, and for what.
//!
//! A request can name a source (a person's mail, a page, a file, a ticket, the project's docs) and say what to do with it.
//! The agent may then act on the source's text as if the user had written it, but only for that purpose. Delegation is
//! recognised by patterns of English requests; a request in any other form delegates nothing.
//!
//! Delegation never covers text in the source that addresses an agent instead of the user. Access for others, credentials,
//! payments, messages to strangers, and where data goes or code comes from have to be in the request itself.
//!
//! Limits: where sources carry no address or path, every page counts as the page that the request names, and every file as
//! the file. A writer is known by the header of the text, which an attacker may forge.

use super::claim::Claim;
use super::demand::delegates;
use super::record::Record;
use super::spans::{holds, plain, stem, words};
use super::weight::{Weight, host, is_address};
use crate::effect::{Verb, tool_call::class};
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Words of the sources in which pages, files, and docs of a project are read.
const PAGES: [&str; 9] = ["browse", "browser", "fetch", "navigate", "page", "url", "visit", "web", "webpage"];
const READS: [&str; 3] = ["cat", "document", "file"];
const DOCS: [&str; 12] = [
    "building",
    "contributing",
    "developing",
    "development",
    "docs",
    "documentation",
    "guide",
    "hacking",
    "install",
    "readme",
    "setup",
    "wiki",
];
/// Words of mailboxes and chats.
const MAILS: [&str; 10] =
    ["email", "emails", "inbox", "letter", "mail", "mails", "message", "messages", "notice", "notification"];
/// What stands before the number of a record, and in how many bytes of it that is looked for.
const NUMBERS: [&str; 8] = ["bug", "case", "id", "issue", "key", "number", "task", "ticket"];
const NUMBERED: usize = 200;
/// Kinds of texts that a request names by their titles.
const TEXTS: [&str; 20] = [
    "checklist",
    "document",
    "file",
    "guide",
    "handbook",
    "howto",
    "list",
    "macro",
    "manual",
    "memo",
    "note",
    "page",
    "playbook",
    "policy",
    "procedure",
    "report",
    "runbook",
    "template",
    "tutorial",
    "text",
];
/// What requests call a bill, and the words that stand before the amount in one.
const BILLS: [&str; 4] = ["bill", "bills", "invoice", "invoices"];
const DUE: [&str; 16] = [
    "bill",
    "due",
    "facture",
    "factura",
    "faktura",
    "fattura",
    "fatura",
    "invoice",
    "montant",
    "payable",
    "rechnung",
    "total",
    "totale",
    "zahlbetrag",
    "zahlen",
    "zapłaty",
];
/// Kinds of texts that are looked up by their kind.
const LOOKED_UP: [&str; 9] =
    ["agreement", "checklist", "contract", "handbook", "manual", "policy", "procedure", "recipe", "regulations"];
/// Words with which a tool grants access or uses credentials, beyond what its class says.
const ACCESS: [&str; 14] = [
    "admin",
    "collaborator",
    "collaborators",
    "credential",
    "credentials",
    "guest",
    "invite",
    "key",
    "keys",
    "member",
    "members",
    "password",
    "ssh",
    "token",
];
/// Words with which a tool decides where data goes or code comes from.
const PLACED: [&str; 10] =
    ["deploy", "endpoint", "hook", "image", "mirror", "registry", "relay", "remote", "webhook", "webhooks"];
/// Endings of the names of files that a person reads.
const ENDINGS: [&str; 22] = [
    "cfg", "conf", "csv", "doc", "docx", "eml", "htm", "html", "ics", "ini", "json", "log", "md", "odt", "pdf", "rst",
    "rtf", "toml", "txt", "xlsx", "yaml", "yml",
];
/// Words of requests that say nothing about a source.
const COMMON: [&str; 30] = [
    "about",
    "account",
    "according",
    "after",
    "all",
    "also",
    "and",
    "can",
    "could",
    "for",
    "from",
    "have",
    "help",
    "into",
    "not",
    "please",
    "read",
    "that",
    "the",
    "them",
    "then",
    "there",
    "this",
    "use",
    "user",
    "using",
    "what",
    "with",
    "you",
    "your",
];

static PEOPLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        \b(?:from|by|From|By)\s+((?:\p{Lu}[\w-]+\s*){1,3})
        | ((?:\p{Lu}[\w-]+\s+){0,2}\p{Lu}[\w-]+)
          (?: ['’]s\s+(?:\w+\s+){0,2}?(?:e-?mails?|mails?|messages?|instructions?|notes?|tickets?|issues?|requests?|letters?|
                documents?|lists?|comments?|links?|discounts?|invitations?|invoices?|bills?|reports?)\b
            | \s+(?:(?:has|have|had|just|recently|seems?|to|also|already)\s+)*
              (?:send|sent|emailed|mailed|e-mailed|wrote|written|asks?|asked|shared|messaged|told|tells|requested|posted|left|
                assigned|reported|wants?|needs?)\b )
        ",
    )
    .ok()
});
static AS_DOCS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)\b(?:as|like|the\ way|follow(?:ing)?|per|according\ to)\b[^.!?]{0,30}\b(?:docs?|documentation|readme|guide|wiki|
            contributing|instructions|manual|page|site)\b",
    )
    .ok()
});
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:ticket|issue|bug|task|case|pr|request|story|incident|no|number)\.?\s*#?([a-z]{2,8}-\d+|\d+)\b|#(\d+)\b")
        .ok()
});

/// What a request delegates.
#[derive(Debug, Default)]
pub(super) struct Delegation {
    /// To do what the source says.
    all: bool,
    /// The classes of the verbs of the request.
    verbs: Vec<(Verb, &'static str)>,
    /// The words of the request, and the stems of those that say something about a source.
    words: BTreeSet<String>,
    stems: BTreeSet<String>,
    /// The same as one text, in [`plain`] form.
    asked: String,
    people: Vec<Vec<String>>,
    /// Its names, which may be those to whom it writes.
    names: BTreeSet<String>,
    hosts: Vec<String>,
    files: Vec<String>,
    numbers: Vec<String>,
    mails: bool,
    docs: bool,
    /// It speaks of a bill.
    bill: bool,
    /// It asks to pay.
    pays: bool,
    /// The name of the project; empty if it is not known.
    project: String,
}

/// What a request says of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// It does not name it.
    Foreign,
    /// It names it, but not for this kind of action.
    Named,
    /// What it says is the user's word for this action.
    Users,
}

impl Word {
    pub fn is_users(self) -> bool {
        self == Self::Users
    }
}

impl Delegation {
    /// `project`: the name of the folder in which the agent works.
    pub fn of(request: &str, project: &str) -> Self {
        let found = |pattern: &LazyLock<Option<Regex>>| -> Vec<String> {
            let all = pattern.as_ref().map(|pattern| pattern.captures_iter(request));
            let group =
                |found: regex::Captures<'_>| found.iter().skip(1).flatten().next().map(|g| g.as_str().to_owned());
            all.into_iter().flatten().filter_map(group).collect()
        };
        let parts: Vec<&str> = request
            .split_whitespace()
            .map(|part| part.trim_matches(|c: char| !c.is_alphanumeric() && c != '/'))
            .collect();
        let on_web =
            |part: &&&str| is_address(part) || part.contains('/') && !part.starts_with('/') && !part.contains('@');
        let addresses = parts.iter().filter(on_web);
        let files = parts
            .iter()
            .filter(|part| part.starts_with('/') || part.contains('/') && host(part).is_none() || is_file_name(part));
        let words: BTreeSet<String> = words(request).into_iter().collect();
        let has = |list: &[&str]| list.iter().any(|word| words.contains(*word));
        let docs = AS_DOCS.as_ref().is_some_and(|pattern| pattern.is_match(request));
        Self {
            all: delegates(request) || docs,
            verbs: words.iter().map(|word| class(word)).filter(|class| *class != (Verb::Call, "")).collect(),
            people: found(&PEOPLE).iter().map(|name| untitled(name)).filter(|name| !name.is_empty()).collect(),
            names: parts
                .iter()
                .filter(|part| part.starts_with(char::is_uppercase))
                .flat_map(|part| super::words(part))
                .collect(),
            hosts: addresses.filter_map(|part| host(part)).collect(),
            files: files
                .filter_map(|part| part.rsplit('/').find(|name| !name.is_empty()))
                .map(str::to_lowercase)
                .collect(),
            numbers: found(&NUMBER).iter().map(|number| number.to_lowercase()).collect(),
            mails: has(&MAILS) || !found(&PEOPLE).is_empty(),
            asked: plain(request),
            stems: words.iter().filter(|word| says(word)).map(|word| stem(word).to_owned()).collect(),
            bill: has(&BILLS),
            pays: pays(request),
            words,
            docs,
            project: project.to_lowercase(),
        }
    }

    /// Whether the request speaks of links; the websites whose addresses it has are none.
    pub fn speaks_of_links(&self) -> bool {
        let links = ["article", "articles", "link", "links", "linked", "url", "urls"];
        links.iter().any(|word| self.words.contains(*word)) || self.hosts.is_empty() && self.words.contains("websites")
    }

    /// Whether the request wants a link to be passed on, which it does not have itself.
    pub fn wants_link(&self) -> bool {
        let places = ["address", "page", "site", "website"];
        self.speaks_of_links() || self.hosts.is_empty() && places.iter().any(|word| self.words.contains(*word))
    }

    /// Whether an address is on a site that the request names.
    pub fn names_site(&self, address: &str) -> bool {
        host(address)
            .is_some_and(|host| self.hosts.iter().any(|named| host == *named || host.ends_with(&format!(".{named}"))))
    }

    /// For each record, whether the request names it. A name that fits two writers names neither.
    pub fn named(&self, records: &[&Record]) -> Vec<bool> {
        let alone = |name: &Vec<String>| {
            // the address by which a directory knows the person counts as well
            let mut senders: Vec<String> = records.iter().flat_map(|record| addresses_of(record, name)).collect();
            senders.sort_unstable();
            senders.dedup();
            senders.len() == 1
        };
        let people: Vec<&Vec<String>> = self.people.iter().filter(|name| alone(name)).collect();
        let about: Vec<usize> = records.iter().map(|record| self.about(record)).collect();
        let most = about.iter().copied().max().unwrap_or_default();
        let alone = about.iter().filter(|found| **found == most).count() == 1;
        let bills: BTreeSet<&str> =
            records.iter().filter(|record| self.is_bill(record)).map(|record| record.text.as_str()).collect();
        // beside a person who wrote something, a subject names only what is about that person
        let known = records.iter().any(|record| people.iter().any(|name| wrote(record, name)));
        let titled =
            |record: &Record| self.people.iter().any(|name| name.iter().all(|word| record.title.contains(word)));
        let is = |(record, about): (&&Record, &usize)| {
            people.iter().any(|name| wrote(record, name))
                || (self.mails || self.all && !self.is_other_mail(record))
                    && most > 0
                    && *about == most
                    && alone
                    && (!known || titled(record))
                || self.bill && self.pays && bills.len() == 1 && self.is_bill(record)
                || self.is_page(record)
                || self.is_file(record)
                || self.is_docs(record)
                || self.says_name(record)
                || self.all && self.says_source(record)
                || !self.is_other_mail(record) && self.numbers.iter().any(|number| is_numbered(record, number))
        };
        records.iter().zip(&about).map(is).collect()
    }

    /// Whether a record is a mail, of which the request says nothing: anyone may write that it is ticket 12.
    fn is_other_mail(&self, record: &Record) -> bool {
        !self.mails && words(&record.source).iter().any(|word| MAILS.contains(&word.as_str()))
    }

    /// How much of its subject and of its writer the request says.
    fn about(&self, record: &Record) -> usize {
        if record.title.is_empty() {
            return 0;
        }
        let mut sender = words(&record.sender);
        sender.retain(|word| !self.names.contains(word));
        let all = record.title.iter().chain(&sender).filter(|word| says(word));
        let said: BTreeSet<&str> = all.map(|word| stem(word)).filter(|stem| self.stems.contains(*stem)).collect();
        // the name of a person counts more: "Ann Lee has shared a document with you"
        let people = self.people.iter().filter(|name| name.iter().all(|word| record.title.contains(word)));
        said.len() + 2 * people.count()
    }

    /// Whether the request names it as a text: `the macro late-cancel`, `my note "bedtime"`.
    fn says_name(&self, record: &Record) -> bool {
        let name = record.name.trim();
        name.len() >= 4
            && self.asked.match_indices(name).any(|(at, _)| {
                let before = self.asked.get(..at).unwrap_or_default();
                let quoted = before.ends_with(['"', '\'', '\u{201c}', '\u{2018}', '\u{201e}']);
                let mut last = before.rsplit(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(3);
                quoted || last.any(|word| TEXTS.contains(&word))
            })
    }

    /// Whether a record is a bill, and has a word of the request that says which.
    fn is_bill(&self, record: &Record) -> bool {
        let which = |word: &String| says(word) && !BILLS.contains(&word.as_str()) && self.stems.contains(stem(word));
        self.bill && has_form_of_bill(record) && words(&format!("{} {}", record.text, record.source)).iter().any(which)
    }

    /// Whether the request has the kind of text that the agent looked up: "the examiner handbook" and `read_handbook`.
    fn says_source(&self, record: &Record) -> bool {
        let kind = |word: &String| LOOKED_UP.contains(&word.as_str()) && self.words.contains(word);
        words(&record.source).iter().any(kind) || self.says_title(record)
    }

    /// Whether the request has the title by which the agent looked a text up: `read_note title='Fridge list'`.
    fn says_title(&self, record: &Record) -> bool {
        let source = record.source.to_lowercase();
        let title = [" title=", " name=", " doc=", " note=", " page="].iter().find_map(|key| {
            let rest = source.split_once(key)?.1;
            let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
            Some(rest.trim_start_matches(['\'', '"']).split(quote.unwrap_or(' ')).next()?.to_owned())
        });
        // a page may be called after its title: `page=onboard-sensor`
        let slug = |title: &str| {
            let parts: Vec<String> = words(title).into_iter().filter(|word| word.len() >= 3).collect();
            parts.len() >= 2 && parts.iter().all(|part| self.words.contains(part))
        };
        title.is_some_and(|title| title.len() >= 5 && (holds(&self.asked, &plain(&title)) || slug(&title)))
    }

    fn is_page(&self, record: &Record) -> bool {
        let source = record.source.to_lowercase();
        let reads = words(&source).iter().any(|word| PAGES.contains(&word.as_str()));
        match source.split_whitespace().find_map(host) {
            Some(host) => self.hosts.iter().any(|named| host == *named || host.ends_with(&format!(".{named}"))),
            None => reads && !self.hosts.is_empty(),
        }
    }

    fn is_file(&self, record: &Record) -> bool {
        let source = record.source.to_lowercase();
        if source.contains('/') || source.split_whitespace().any(is_file_name) {
            let named = |name: &String| source.ends_with(&format!("/{name}")) || holds(&source, name);
            return self.files.iter().any(named);
        }
        !self.files.is_empty() && words(&source).iter().any(|word| READS.contains(&word.as_str()))
    }

    /// The docs of the project: a file of that kind, here or on a page of the project.
    fn is_docs(&self, record: &Record) -> bool {
        let source = record.source.to_lowercase();
        let own = !source.split_whitespace().any(|part| part.contains("://") || part.contains("www."))
            || !self.project.is_empty()
                && source
                    .split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_')
                    .any(|part| part == self.project);
        let text = source.split(['?', '#']).next().unwrap_or_default();
        let text = [".md", ".rst", ".adoc", ".mdx"].iter().any(|end| text.trim_end().ends_with(end));
        self.docs && own && (text || words(&source).iter().any(|word| DOCS.contains(&word.as_str())))
    }

    /// Whether a message that the request asks for goes to somebody whom the request names, or who wrote the record. One
    /// who does what a text says also writes to whom it says.
    pub fn writes_to(&self, record: &Record, claim: &Claim) -> bool {
        let knows = |name: &String| {
            let said = words(name).into_iter().any(|word| word.len() >= 3 && self.words.contains(&word));
            said || record.sender.to_lowercase().contains(name.as_str())
        };
        self.all || class(&claim.tool.join("_")) != (Verb::Send, "message") || claim.recipients.iter().all(knows)
    }

    /// Whether a named record speaks for the user for an action. `tool`: its words. `to`: the addresses of mail among its
    /// values. `sites`: the addresses of the web.
    pub fn covers(
        &self,
        record: &Record,
        weight: Weight,
        tool: &[String],
        (to, sites): (&[String], &[String]),
    ) -> bool {
        // what a file of the user's says of the user is told to a site that the user names
        if !sites.is_empty() && self.is_file(record) && sites.iter().all(|site| self.names_site(site)) {
            return true;
        }
        let kind = class(&tool.join("_"));
        let grants = |word: &&String| ACCESS.contains(&word.as_str());
        let access = kind == (Verb::Write, "access") || tool.iter().any(|word| grants(&word));
        if access && !tool.iter().filter(grants).any(|word| self.words.contains(word)) {
            return false;
        }
        // an image may be a picture
        let sets = || tool.iter().any(|word| ["deploy", "pull", "push", "roll", "set"].contains(&word.as_str()));
        let placed = |word: &String| {
            PLACED.contains(&word.as_str()) && !self.words.contains(word) && (word != "image" || sets())
        };
        if weight == Weight::Sink && tool.iter().any(placed) {
            return false;
        }
        let knows = |address: &String| {
            holds(&self.asked, address)
                || record.sender.contains(address.as_str())
                || super::spans::named(&self.asked, address)
        };
        if weight == Weight::Sink && !to.iter().all(knows) {
            return false;
        }
        match kind {
            _ if weight != Weight::Sink => true,
            // a service names its own next step; it sends the agent to no other place, and runs nothing
            (Verb::Send, "payment") | (Verb::Delete | Verb::Schedule, _) | (Verb::Call, "code") if record.answer => {
                false
            }
            _ if record.answer && !(to.is_empty() && sites.is_empty() && !tool.is_empty()) => false,
            _ if record.answer => true,
            // the request has to ask for payments and deletions itself
            (Verb::Send, "payment") => self.pays,
            (Verb::Delete, _) => self.verbs.contains(&kind),
            (Verb::Read | Verb::List, _) => {
                self.all || self.verbs.iter().any(|(verb, _)| matches!(verb, Verb::Read | Verb::List | Verb::Write))
            }
            _ => self.all || self.verbs.contains(&kind),
        }
    }
}

/// Whether a word is the name of a file, by its ending: `notes.txt`, `file_path=notes.txt`.
fn is_file_name(word: &str) -> bool {
    let name = word.trim_end_matches(|c: char| !c.is_alphanumeric());
    name.rsplit_once('.').is_some_and(|(name, ending)| {
        !name.is_empty() && !name.contains("://") && ENDINGS.contains(&ending.to_lowercase().as_str())
    })
}

/// Whether a request asks to pay: "adjust my payment" does not, "make the payment" does.
fn pays(request: &str) -> bool {
    let words = words(request);
    let makes = |at: usize| {
        let before = words.get(at.saturating_sub(3)..at).unwrap_or_default();
        before.iter().any(|word| matches!(word.as_str(), "do" | "issue" | "make" | "send" | "start" | "submit"))
    };
    words.iter().enumerate().any(|(at, word)| {
        let noun = matches!(word.as_str(), "payment" | "payments" | "transaction" | "transactions");
        word == "settle" && words.iter().any(|word| BILLS.contains(&word.as_str()))
            || class(word) == (Verb::Send, "payment") && (!noun || makes(at))
    })
}

/// Whether a word of a request may say which source it means.
fn says(word: &str) -> bool {
    word.len() >= 4 && !COMMON.contains(&word) && !MAILS.contains(&word)
}

/// The words of a name without `Dr` and the like.
fn untitled(name: &str) -> Vec<String> {
    const TITLES: [&str; 10] = ["dr", "frau", "herr", "madame", "miss", "mr", "mrs", "ms", "prof", "professor"];
    let mut words = words(name);
    if words.len() > 1 {
        words.retain(|word| !TITLES.contains(&word.as_str()));
    }
    words
}

/// Whether a record has the form of a bill: it says what is due, and names an account.
fn has_form_of_bill(record: &Record) -> bool {
    let words = words(&record.text);
    let digits = |word: &&String| word.len() >= 6 && word.bytes().filter(u8::is_ascii_digit).count() >= 6;
    let account =
        record.text.contains("iban") || words.iter().any(|word| word.starts_with("account") || word == "konto");
    words.iter().any(|word| DUE.contains(&word.as_str()))
        && account
        && (record.text.contains("iban") || words.iter().any(|word| digits(&word)))
}

/// Whether a record is the one with a number, by its source or by an identifier at its beginning. A date is none.
fn is_numbered(record: &Record, number: &str) -> bool {
    let begin = record.text.get(..record.text.floor_char_boundary(NUMBERED)).unwrap_or_default();
    let is = |(at, _): (usize, &str)| {
        let (before, after) = (begin.get(..at).unwrap_or_default(), begin.get(at + number.len()..).unwrap_or_default());
        let label = before.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '#');
        let labelled = label.ends_with('#')
            || label.rsplit(|c: char| !c.is_alphanumeric()).next().is_some_and(|word| NUMBERS.contains(&word));
        labelled && !after.starts_with(|c: char| c.is_alphanumeric() || c == '-')
    };
    holds(&record.source.to_lowercase(), number) || begin.match_indices(number).any(is)
}

/// The addresses of mail of a person in a record. A writer without an address stands for itself.
fn addresses_of(record: &Record, name: &[String]) -> Vec<String> {
    let mails = |text: &str| -> Vec<String> {
        let parts = text.split(|c: char| c.is_whitespace() || "<>()[]{}'\",;:".contains(c));
        parts
            .filter(|part| part.split_once('@').is_some_and(|(_, host)| host.contains('.')))
            .map(str::to_owned)
            .collect()
    };
    let mut found: Vec<String> = mails(&record.text);
    found.retain(|mail| {
        let parts = words(mail.split('@').next().unwrap_or_default());
        name.iter().any(|one| one.len() >= 3) && name.iter().all(|one| parts.contains(one))
    });
    if found.is_empty() && wrote(record, name) {
        let own = mails(&record.sender).into_iter().next();
        found.push(own.unwrap_or_else(|| record.sender.clone()));
    }
    found
}

/// Whether the writer of a record has a name.
fn wrote(record: &Record, name: &[String]) -> bool {
    let parts = words(&record.sender);
    !record.sender.is_empty() && name.iter().any(|one| one.len() >= 3) && name.iter().all(|one| parts.contains(one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn record(source: &str, text: &str) -> Record {
        Record::new(&Arc::from(source), text)
    }

    fn names(request: &str, records: &[(&str, &str)]) -> Vec<bool> {
        let records: Vec<Record> = records.iter().map(|(source, text)| record(source, text)).collect();
        Delegation::of(request, "widget").named(&records.iter().collect::<Vec<_>>())
    }

    #[test]
    fn sources_are_named_by_writer_address_file_and_number() {
        let mails =
            [("inbox", "sender: dana.wolf@a.example\nsubject: x"), ("inbox", "sender: deal@b.example\nsubject: y")];
        assert_eq!(names("Do what Dana's mail says", &mails), [true, false]);
        assert_eq!(names("Dana Wolf sent me some tasks, could you do them?", &mails), [true, false]);
        assert_eq!(names("Write Dana a mail", &mails), [false, false]);
        let two = [("inbox", "sender: dana.wolf@a.example\n"), ("inbox", "sender: dana.wolf@b.example\n")];
        assert_eq!(names("Do what Dana's mail says", &two), [false, false]);
        let page = [("browse https://www.club.example/tasks", "x"), ("browse https://other.example", "x")];
        assert_eq!(names("finish the tasks on www.club.example", &page), [true, false]);
        assert_eq!(names("see /srv/info/me.txt", &[("read_file", "x"), ("inbox", "x")]), [true, false]);
        assert_eq!(
            names("see /srv/info/me.txt", &[("read /srv/info/me.txt", "x"), ("read /tmp/o.txt", "x")]),
            [true, false]
        );
        assert_eq!(names("fix issue 4312", &[("issue view 4312", "x"), ("issue view 12", "x")]), [true, false]);
        let docs = [
            ("WebFetch https://git.example/acme/widget/README.md", "x"),
            ("WebFetch https://git.example/o/README.md", "x"),
        ];
        assert_eq!(names("set the project up as its docs say", &docs), [true, false]);
    }

    #[test]
    fn a_delegation_has_limits() {
        let covers = |request: &str, weight, tool: &str, to: &[&str]| {
            let to: Vec<String> = to.iter().map(|one| (*one).to_owned()).collect();
            let mail = record("inbox", "sender: dana.wolf@a.example\n");
            Delegation::of(request, "").covers(&mail, weight, &words(tool), (&to, &[]))
        };
        let all = "follow the instructions in Dana's mail";
        assert!(covers(all, Weight::Local, "move_file", &[]) && covers(all, Weight::Sink, "publish_page", &[]));
        assert!(covers(all, Weight::Sink, "send_mail", &["dana.wolf@a.example"]));
        assert!(!covers(all, Weight::Sink, "send_mail", &["stranger@b.example"]));
        assert!(!covers(all, Weight::Sink, "grant_access", &[]) && !covers(all, Weight::Sink, "invite_member", &[]));
        assert!(!covers(all, Weight::Sink, "send_money", &[]));
        assert!(covers("pay the bill in Dana's mail", Weight::Sink, "send_money", &[]));
        assert!(!covers("read Dana's mail", Weight::Sink, "send_money", &[]));
    }
}
