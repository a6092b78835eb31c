//! Sinks that the request does not explain, though no text orders them.
//!
//! A third party gets what it wants without an order as well: it wishes politely, states that something "is to be" done,
//! or plants an account or an address. A person is asked about a sink
//!
//! - of a kind that the request does not ask for, after texts of others were read,
//! - for whose verb an instruction asks and the request does not: its values may have been looked up for the instruction,
//! - whose text an instruction has word for word, and whose amount of money no text has,
//! - whose recipient or account stands only in a text that has nothing to do with the request,
//! - whose recipient, account, link or item somebody merely says, while a record of the service has another one: two
//!   candidates for one slot,
//! - whose recipient has two addresses.

use super::claim::Claim;
use super::delegate::Word;
use super::demand::{is_verb, verb_of, wishes};
use super::kinds::Kinds;
use super::read::{Piece, Seen};
use super::record::Record;
use super::replaced::replaced;
use super::rival::{Form, account, is_account, rival};
use super::spans::{holds, named, stem, stems, words};
use super::voices::Voices;
use super::weight::Weight;
use crate::effect::{Verb, tool_call::class};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Tools that open something to look at it, or to act in it later.
const OPENS: [&str; 8] = ["browse", "click", "finish", "goto", "navigate", "scroll", "visit", "view"];
/// What is opened to look at it, and not a port or an account.
const OPENED: [&str; 9] = ["browser", "doc", "document", "file", "link", "mail", "page", "tab", "url"];
/// Shortest word by which a text has to do with a request.
const SHORT: usize = 3;
/// Words of requests that nearly every text has.
const COMMON: &str = "about account address after all also and answer any are but can could details did does email find for \
from get had has have her him his how inbox invoice its last latest let list mail mails make may message messages need \
next not now off one our out please read reply send sent she should soon sure tell thank thanks that the their them then \
there they this today tomorrow too two use was what when which who will with would you your";
/// Fewest words in small letters of a sentence, in any language.
const SENTENCE: usize = 9;
/// Longest value that is no text, in bytes.
const LONG: usize = 40;
/// Words of sentences, of which a field or a line of a list has few.
const FUNCTION: &str = "a after and are as at be been by for from has have if in is it now of on or our should so that the \
their them there these they this through to under was we were when where which will with would you your";

/// More words than this make a text that somebody may dictate.
const DICTATED: usize = 4;
/// Longest such text, in bytes.
const TEXT: usize = 400;
const DICTATES: &str = "an instruction that the agent has read dictates this text";
/// Shortest line that counts as part of a text, in bytes.
const PART: usize = 16;
/// Words of requests for a text that says what to fill in.
const LETTERS: [&str; 9] = ["email", "emails", "invitation", "letter", "mail", "mails", "message", "note", "ticket"];
/// Words of requests for a text that is passed on.
const REPEATED: [&str; 14] = [
    "announcement",
    "content",
    "copy",
    "forward",
    "invitation",
    "macro",
    "quote",
    "relay",
    "reply",
    "says",
    "template",
    "text",
    "todo",
    "wording",
];
/// Words of arguments for a state that a call sets: an issue with the state `closed`.
const STATES: [&str; 4] = ["action", "operation", "state", "status"];
/// Words before the address of somebody who is to get something.
const GETS: [&str; 10] = ["bcc", "cc", "email", "for", "inform", "invite", "mail", "notify", "to", "with"];
/// Words of arguments for an amount of money.
const AMOUNTS: [&str; 5] = ["amount", "price", "sum", "total", "value"];

/// What a sink lacks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unasked {
    pub why: String,
    /// The text that may be behind it.
    pub quote: Piece,
}

/// A request, for the search for what explains a value.
struct Request<'r> {
    /// In plain form.
    asked: &'r str,
    /// The stems of what it is about.
    wanted: BTreeSet<String>,
}

/// What a sink lacks that no text orders; `None` if the request explains it, or no text of others was read. `asked`: the
/// request in plain form.
pub(super) async fn unasked(
    claim: &Claim,
    request: &str,
    asked: &str,
    seen: &Seen,
    voices: &Voices,
) -> Option<Unasked> {
    if asked.is_empty() || claim.weight == Weight::Look {
        return None;
    }
    if let Some(quote) = part(claim, asked, seen).await {
        return Some(Unasked { why: DICTATES.to_owned(), quote: quote.clone() });
    }
    if claim.weight != Weight::Sink || claim.tool.is_empty() {
        return None;
    }
    let first = seen.pieces.iter().find(|piece| !piece.record.answer)?;
    if let Some(kind) = of_kind(claim, (request, asked), first, voices) {
        return Some(kind);
    }
    // the words of the tool are what is done, not what it is about
    let says = |word: &&String| {
        word.len() >= SHORT
            && !COMMON.split_whitespace().any(|one| one == *word)
            && !claim.tool.iter().any(|tool| tool.len() >= SHORT && word.ends_with(tool.as_str()))
    };
    let wanted = words(request).iter().filter(says).map(|word| stem(word).to_owned()).collect();
    let found = of_order(claim, request, asked, seen, voices)
        .or_else(|| replaced(claim, asked, seen, voices))
        .or_else(|| of_text(claim, asked, seen, voices))
        .or_else(|| of_amount(claim, asked, seen));
    if let Some(found) = found {
        return Some(found);
    }
    of_value(claim, &Request { asked, wanted }, seen, voices).await
}

/// The words of the name of the argument that has a value.
pub(super) fn slot_of<'c>(claim: &'c Claim, value: &str) -> impl Iterator<Item = &'c String> {
    claim.slots.iter().filter(move |(_, own)| own == value).flat_map(|(key, _)| key)
}

/// What an instruction asks for by the verb of the tool, or by the state that it sets, and the request does not: whatever
/// the values, they may have been looked up for it.
fn of_order(claim: &Claim, request: &str, asked: &str, seen: &Seen, voices: &Voices) -> Option<Unasked> {
    let sets = |key: &[String]| key.iter().any(|word| STATES.contains(&word.as_str()));
    let states = claim.slots.iter().filter(|(key, _)| sets(key)).filter_map(|(_, value)| verb_of(value));
    let own = claim.tool.iter().find(|word| is_verb(word)).map(|verb| (verb.as_str(), claim.tool.as_slice()));
    let states: Vec<(&str, [String; 1])> = states.map(|verb| (verb, [verb.to_owned()])).collect();
    let states = states.iter().map(|(verb, words)| (*verb, words.as_slice()));
    own.into_iter().chain(states).find_map(|verb| of_verb(claim, verb, (request, asked), seen, voices))
}

/// The same for one verb. `words_of`: what the request would have to ask for.
fn of_verb(
    claim: &Claim,
    (verb, words_of): (&str, &[String]),
    (request, asked): (&str, &str),
    seen: &Seen,
    voices: &Voices,
) -> Option<Unasked> {
    if matches!(class(verb).0, Verb::Read | Verb::List) || Kinds::of(request).ask_for(words_of) {
        return None;
    }
    let named = claim.values.iter().filter(|value| value.len() <= LONG).all(|value| holds(asked, value));
    if named && !claim.values.is_empty() {
        return None;
    }
    // "make a reservation", of `reserve_hotel`
    let own = stem(verb);
    let says = |word: &String| stem(word) == own || own.len() > SHORT + 1 && word.starts_with(own);
    let foreign = seen.pieces.iter().zip(&voices.of).filter(|(_, word)| !word.is_users()).map(|(piece, _)| piece);
    // one who does what a text says may do what its request has no verb for; requests for messages have many forms, and
    // their recipients are judged
    let plainly = !voices.all && !matches!(class(&claim.tool.join("_")), (Verb::Call, _) | (Verb::Send, "message"));
    let mut orders = foreign.filter(|piece| piece.hostile || plainly && piece.order);
    let quote = orders.find(|piece| words(&piece.text).iter().any(says))?.clone();
    let why = format!("a text that the agent has read asks for {}, and the request does not", words_of.join(" "));
    Some(Unasked { why, quote })
}

/// A text that an instruction has word for word, and the request has not.
fn of_text(claim: &Claim, asked: &str, seen: &Seen, voices: &Voices) -> Option<Unasked> {
    let several =
        |value: &&String| value.split_whitespace().nth(DICTATED).is_some() && value.len() <= TEXT && !is_account(value);
    let texts: Vec<&String> = claim.values.iter().filter(several).filter(|value| !holds(asked, value)).collect();
    // a source that the request points to for something else dictates no text either
    let wanted = voices.all || REPEATED.iter().any(|word| holds(asked, word));
    let foreign = seen.pieces.iter().zip(&voices.of).filter(|(_, word)| !wanted || !word.is_users());
    let mut orders = foreign.map(|(piece, _)| piece).filter(|piece| piece.hostile || piece.order);
    let quote = orders.find(|piece| texts.iter().any(|text| holds(&piece.plain, text)))?.clone();
    Some(Unasked { why: DICTATES.to_owned(), quote })
}

/// A sentence or a line of a passage that speaks to an agent, which a text of the action has, and nothing else that was
/// read.
async fn part<'s>(claim: &Claim, asked: &str, seen: &'s Seen) -> Option<&'s Piece> {
    let others = |line: &str| seen.pieces.iter().any(|piece| !piece.hostile && piece.plain.contains(line));
    let texts = || claim.values.iter().chain(std::iter::once(&claim.verbatim));
    let has = |line: &str| texts().any(|text| text.len() > line.len() && holds(text, line));
    for piece in seen.pieces.iter().filter(|piece| piece.hostile) {
        // the deadline can interrupt only at an await
        tokio::task::yield_now().await;
        let line = untagged(&piece.plain).trim_start_matches(|c: char| !c.is_alphanumeric());
        let long = line.len() >= PART && line.split_whitespace().nth(2).is_some();
        if long && has(line) && !holds(asked, line) && !others(line) {
            return Some(piece);
        }
    }
    None
}

/// A line without the tags at its beginning.
fn untagged(mut line: &str) -> &str {
    while let Some((_, rest)) = line.strip_prefix('<').and_then(|tag| tag.split_once('>')) {
        line = rest;
    }
    line
}

/// An amount of money that neither the request nor a text has, for somebody to whom an instruction wants it to be paid and
/// whom the request does not name.
fn of_amount(claim: &Claim, asked: &str, seen: &Seen) -> Option<Unasked> {
    if class(&claim.tool.join("_")) != (Verb::Send, "payment") {
        return None;
    }
    let people: Vec<(Form, String)> = deciding(claim).into_iter().filter(|(form, _)| form.is_person()).collect();
    if people.is_empty() || people.iter().any(|(_, value)| holds(asked, value)) {
        return None;
    }
    let paid = |(key, value): &(Vec<String>, String)| {
        key.iter().any(|word| AMOUNTS.contains(&word.as_str())).then(|| value.parse::<f64>().ok()).flatten()
    };
    let amount = claim.slots.iter().find_map(paid)?;
    let has = |text: &str| numbers(text).any(|number| (number - amount).abs() < 0.005);
    if has(asked) || seen.pieces.iter().any(|piece| !piece.hostile && has(&piece.plain)) {
        return None;
    }
    let mut ordered = seen.pieces.iter().filter(|piece| piece.object);
    let quote = ordered.find(|piece| people.iter().any(|(form, value)| form.has(&piece.plain, value)))?;
    let why = format!("the amount {amount} stands neither in the request nor in a text that the agent has read");
    Some(Unasked { why, quote: quote.clone() })
}

/// The numbers in a text, with or without a comma between thousands.
fn numbers(text: &str) -> impl Iterator<Item = f64> {
    let parts = text.split(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    parts.filter_map(|part| part.replace(',', "").trim_end_matches('.').parse().ok())
}

/// A kind of action that the request does not ask for.
fn of_kind(claim: &Claim, (request, asked): (&str, &str), first: &Piece, voices: &Voices) -> Option<Unasked> {
    let kind = class(&claim.tool.join("_"));
    let has = |list: &[&str]| claim.tool.iter().any(|word| list.contains(&word.as_str()));
    let opens = has(&OPENS) || has(&["open"]) && (has(&OPENED) || !claim.sites.is_empty());
    let looks = |word: &String| matches!(class(word).0, Verb::Read | Verb::List);
    // a tool whose name says nothing may be a calculator
    let acts = match kind.0 {
        Verb::Read | Verb::List => false,
        Verb::Call if kind.1.is_empty() => claim.tool.iter().any(|word| is_verb(word) && !looks(word)),
        _ => true,
    };
    // an account that the user wants in a file
    let file =
        |value: &String| value.contains('/') && value.split('/').rev().take(2).all(|part| named_part(asked, part));
    let writes = kind == (Verb::Write, "") && claim.values.iter().any(file);
    if !acts || opens || voices.all || writes {
        return None;
    }
    let kinds = Kinds::of(request);
    let asks = if kinds.only_look() {
        "the request asks only to look at something"
    } else if !kinds.may_ask_for(kind) {
        "the request asks for no action of this kind"
    } else {
        return None;
    };
    Some(Unasked { why: format!("{asks}, and not for {}", claim.tool.join(" ")), quote: first.clone() })
}

/// Whether the request has a part of a path.
fn named_part(asked: &str, part: &str) -> bool {
    part.len() >= SHORT && holds(asked, part)
}

/// A value that the request does not explain.
async fn of_value(claim: &Claim, request: &Request<'_>, seen: &Seen, voices: &Voices) -> Option<Unasked> {
    let addressed = claim.to.iter().find(|to| holds(request.asked, to));
    let chosen = chosen(request.asked);
    for (form, value) in &deciding(claim) {
        let form = *form;
        if holds(request.asked, value) || named(request.asked, value) || voices.delegation.names_site(value) {
            continue;
        }
        // the deadline can interrupt only at an await
        tokio::task::yield_now().await;
        let all = seen.pieces.iter().zip(&voices.of);
        let holding: Vec<(&Piece, &Word)> = all.filter(|(piece, _)| form.has(&piece.plain, value)).collect();
        let Some((first, _)) = holding.first() else { continue };
        let delegated = holding.iter().any(|(_, word)| word.is_users());
        let known = form == Form::Mail && holding.iter().any(|(piece, _)| request.knows(value, piece));
        let spoken = |(piece, _): &(&Piece, &Word)| speaks(piece, value);
        let wants = |(piece, _): &(&Piece, &Word)| says(piece);
        // "set the location to the one in the mail"
        let says = |word: &str| holds(request.asked, word);
        let filled =
            form == Form::Place && slot_of(claim, value).any(|word| says(word)) && LETTERS.iter().any(|w| says(w));
        let why = if delegated || filled {
            None
        } else if let Some(named) = addressed.filter(|_| form == Form::Mail) {
            Some(format!("the request names {named} and not {value}"))
        } else if let Some(named) = chosen.first().filter(|_| form == Form::Mail && holding.iter().any(wants)) {
            Some(format!("the request names {named} and not {value}, which a text wants"))
        } else if form.is_reached() && !known && holding.iter().all(spoken) {
            Some(format!("{value} stands only in what somebody says"))
        } else if form.is_person() && !request.concerned(&holding, value, seen) {
            Some(format!("{value} stands only in a text that has nothing to do with the request"))
        } else {
            None
        };
        if let Some(why) = why {
            return Some(Unasked { why, quote: (*first).clone() });
        }
        if let Some((quote, found)) = contested(claim, request, (form, value), &holding, seen) {
            let why = format!("the texts that the agent has read name both {value} and {found}");
            return Some(Unasked { why, quote: quote.clone() });
        }
    }
    None
}

/// The addresses that a request names as those of people who are to get something: "book it with a@x.example and
/// b@x.example".
fn chosen(asked: &str) -> Vec<&str> {
    let (mut found, mut gets) = (Vec::new(), false);
    for word in asked.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        match word.split_once('@') {
            Some((name, host)) if !name.is_empty() && host.contains('.') => {
                if gets {
                    found.push(word);
                }
            }
            // "and" goes on with the list
            _ => gets = GETS.contains(&word) || gets && matches!(word, "and" | "or"),
        }
    }
    found
}

/// Another candidate for a value: one of a record of the service, while only somebody says this one; another address of the
/// same person, while no directory has this one; for an identifier, a thing that the request is about, while this one
/// stands for something else. Returns the text to quote, and the other value.
fn contested<'s>(
    claim: &Claim,
    request: &Request<'_>,
    (form, value): (Form, &str),
    holding: &[(&'s Piece, &Word)],
    seen: &'s Seen,
) -> Option<(&'s Piece, String)> {
    let first = holding.first()?.0;
    let own: HashSet<*const Record> = holding.iter().map(|(piece, _)| Arc::as_ptr(&piece.record)).collect();
    let in_record = |piece: &Piece| own.contains(&Arc::as_ptr(&piece.record));
    let whole = matches!(form, Form::Place | Form::Opaque);
    let records = heads(seen);
    // short values are no pieces of their own
    let row = |piece: &Piece| form == Form::Opaque && holds(&piece.record.text, value) && !in_record(piece);
    let said = holding.iter().all(|(piece, _)| speaks(piece, value)) && !records.iter().any(|piece| row(piece));
    let listed = holding.iter().any(|(piece, _)| !speaks(piece, value) && piece.record.sender.is_empty());
    let delegated = holding.iter().any(|(_, word)| word.is_users());
    let spoken_of = holding.iter().any(|(piece, _)| speaks(piece, value));
    let is_about = |text: &str| !request.wanted.is_disjoint(&stems(text));
    // a row that is about something else counts only if somebody speaks of it
    let about = |piece: &Piece| is_about(&piece.record.name) || spoken_of && is_about(&piece.text);
    let named = |piece: &Piece| !piece.record.name.is_empty() || spoken_of;
    let other_thing = |piece: &Piece| speaks(piece, value) || named(piece) && !about(piece);
    let another = form == Form::Opaque && holding.iter().all(|(piece, _)| other_thing(piece));
    let writer = &first.record.sender;
    // within its own record, and for short forms, each piece is searched; otherwise each record once
    let pieces = seen.pieces.iter().filter(|piece| !whole || in_record(piece));
    let others = records.iter().copied().filter(|piece| whole && !in_record(piece));
    pieces.chain(others).filter(|piece| !piece.hostile).find_map(|piece| {
        let text = if whole && !in_record(piece) { &piece.record.text } else { &piece.plain };
        let found = rival(form, text, value, &claim.slots)?;
        let same = form == Form::Mail && !listed && found.split('@').next() == value.split('@').next();
        let service = piece.record.sender.is_empty() && !speaks(piece, &found);
        // another writer, whose letter is as near to the request
        let writers = form == Form::Account && !writer.is_empty() && piece.record.sender != *writer;
        let writers = writers && request.shares(piece) >= request.shares(first);
        let other =
            (service || writers) && (said && (!delegated || form.is_person())) || service && another && about(piece);
        (request.shares(piece) > 0 && (same || other)).then_some((first, found))
    })
}

/// The first piece of each record.
fn heads(seen: &Seen) -> Vec<&Piece> {
    let mut known: HashSet<*const Record> = HashSet::new();
    seen.pieces.iter().filter(|piece| known.insert(Arc::as_ptr(&piece.record))).collect()
}

/// The values that decide who or what gets something: addresses of mail, accounts, links, opaque identifiers, and what
/// stands in a slot for a place. A message may contain an account.
fn deciding(claim: &Claim) -> Vec<(Form, String)> {
    let own = claim.values.iter().filter_map(|value| Some((Form::of(value, &claim.slots)?, value.clone())));
    let texts = claim.values.iter().filter(|value| value.len() > LONG && !is_account(value));
    own.chain(texts.filter_map(|text| Some((Form::Account, account(text, "")?)))).collect()
}

impl Request<'_> {
    /// How many of its words a piece, its record or its source has.
    fn shares(&self, piece: &Piece) -> usize {
        let text = [piece.record.text.as_str(), piece.plain.as_str(), piece.source.as_ref()].join(" ");
        let said: BTreeSet<String> = words(&text).iter().map(|word| stem(word).to_owned()).collect();
        self.wanted.intersection(&said).count()
    }

    /// Whether a row of a directory begins with a name that the request and an address have.
    fn knows(&self, address: &str, piece: &Piece) -> bool {
        let name = address.split('@').next().unwrap_or_default();
        let begin: Vec<String> = words(&piece.plain).into_iter().take(3).collect();
        words(name).iter().any(|part| part.len() > SHORT && begin.contains(part) && holds(self.asked, part))
    }

    /// Whether a piece that has a value has to do with the request, with its record and source; or has a name that such a
    /// record has too.
    fn concerned(&self, holding: &[(&Piece, &Word)], value: &str, seen: &Seen) -> bool {
        let mut data = holding.iter().map(|(piece, _)| *piece).filter(|piece| !says(piece)).peekable();
        if data.peek().is_none() {
            return false;
        }
        // the only letter that was read is the one that the request is about
        let senders = seen.pieces.iter().map(|piece| piece.record.sender.as_str()).filter(|sender| !sender.is_empty());
        let alone = senders.collect::<BTreeSet<&str>>().len() == 1;
        let mut last: Option<&Arc<Record>> = None;
        let near = data.any(|piece| {
            // the pieces of a record follow one another
            let again = last.replace(&piece.record).is_some_and(|last| Arc::ptr_eq(last, &piece.record));
            !again && self.shares(piece) > 0 || alone && piece.record.sender.contains(value)
        });
        let name = value.split('@').next().unwrap_or_default();
        let parts: Vec<String> = words(name).into_iter().filter(|part| part.len() >= 3).collect();
        let has = |other: &&Piece| parts.iter().all(|part| holds(&other.plain, part));
        let mut others = seen.pieces.iter().filter(|other| !other.hostile && !other.order);
        near || parts.len() >= 2 && others.any(|other| has(&other) && self.shares(other) > 0)
    }
}

/// Whether a piece wants something of its reader.
pub(super) fn says(piece: &Piece) -> bool {
    piece.hostile || piece.order || wishes(&piece.text)
}

/// Whether somebody says what a piece says: it wants something, it is a sentence, or it stands in a letter. The address of
/// the letter's writer does not.
fn speaks(piece: &Piece, value: &str) -> bool {
    let function = |word: &&str| FUNCTION.split_whitespace().any(|one| word.eq_ignore_ascii_case(one));
    let words = || piece.text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '@' && c != '.' && c != '/');
    let small = |word: &&str| word.starts_with(char::is_lowercase) && word.chars().all(char::is_alphabetic);
    let sentence = || words().filter(function).count() >= 3 || words().filter(small).count() >= SENTENCE;
    let written =
        !piece.record.sender.is_empty() && !piece.record.sender.contains(value) && piece.record.sender.contains('@');
    // what a page does not show was written for others
    let hidden = piece.text.contains("<!--") || piece.text.contains("-->");
    says(piece) || hidden || written || sentence()
}
