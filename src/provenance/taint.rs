//! Values that only an order explains.

use super::claim::Claim;
use super::delegate::Word;
use super::read::{Piece, Seen};
use super::spans::{holds, identifying, named, plain, stems, words};
use super::voices::Voices;
use super::weight::{Weight, host};
use crate::effect::{Verb, tool_call::class};
use std::collections::BTreeSet;

/// Words of requests that point to a link, and of tools that open one.
const LINKS: ([&str; 2], [&str; 6]) = (["link", "url"], ["browse", "fetch", "goto", "navigate", "open", "visit"]);
/// Words of requests that point to all links of a source.
const ALL_LINKS: [&str; 7] = ["articles", "links", "pages", "sites", "urls", "web pages", "websites"];
/// Longest identifier, in bytes.
const IDENTIFIER: usize = 16;
/// Stems of words with which a service demands a code.
const DEMANDS: [&str; 7] = ["2fa", "code", "confirm", "otp", "passcode", "verification", "verify"];

/// The first identifying value that occurs with an instruction, and neither in the request nor in the other pieces; and
/// whether the request names the source for something else.
pub(super) async fn tainted(claim: &Claim, asked: &str, seen: &Seen, voices: &Voices) -> Option<(String, Piece, bool)> {
    let verbatim = (claim.verbatim.len() >= 5).then_some(&claim.verbatim);
    let wanted = stems(asked);
    for value in claim.named.iter().chain(verbatim) {
        let looks = claim.reads || claim.weight != Weight::Sink;
        if holds(asked, value) || looks && (named(asked, value) || voices.delegation.names_site(value)) {
            continue;
        }
        // the link that the request wants to be passed on, unless a text wants it to be passed on as well
        if claim.links.iter().any(|link| value.contains(link.as_str()))
            && voices.delegation.wants_link()
            && !seen
                .pieces
                .iter()
                .filter(|piece| Sought::of(value).is_in(&piece.plain))
                .any(|piece| spreads(piece, seen))
        {
            continue;
        }
        // a look into the own folder, or a change there, is ordered by its command or by a place outside
        let line = looks && claim.description.is_empty();
        if line && *value != claim.verbatim && !(value.starts_with(['/', '~']) || value.contains(['@', ':'])) {
            continue;
        }
        // the deadline can interrupt only at an await
        tokio::task::yield_now().await;
        let sought = Sought::of(value);
        let holding = || seen.pieces.iter().zip(&voices.of).filter(|(piece, _)| sought.is_in(&piece.plain));
        let orders = |piece: &Piece| if line { piece.order } else { piece.object };
        let Some((quote, word)) = holding().find(|(piece, word)| orders(piece) && !word.is_users()) else { continue };
        let oldest = holding().filter(|(piece, _)| piece.object).map(|(piece, _)| piece.age).max().unwrap_or_default();
        let posed = holding().any(|(piece, _)| piece.object && piece.hostile);
        let elsewhere = |(piece, word): (&Piece, &Word)| {
            // what was looked up after the order, or stands beside it, does not explain more than the order does
            let later = claim.weight == Weight::Sink && piece.age < oldest;
            let beside = posed && voices.is_poisoned(&piece.record);
            // what the agent looked it up for
            let sought = piece.source.split_once(' ').map_or("", |(_, sought)| sought);
            let about =
                || [&piece.record.name, &piece.text, sought].iter().any(|text| !stems(text).is_disjoint(&wanted));
            // an identifier at the beginning of a row names the row, and an address after a name the one who speaks
            let row = is_row(piece, value, seen) || !piece.hostile && !piece.order && is_label(piece, value);
            word.is_users() || row || !piece.object && !beside && (!later && !posed || about())
        };
        if !holding().any(elsewhere) {
            return Some((value.clone(), quote.clone(), *word == Word::Named));
        }
    }
    meant(claim, &wanted, seen, voices)
}

/// Whether the record of a piece has an instruction to send something.
fn spreads(piece: &Piece, seen: &Seen) -> bool {
    let sends = |word: &String| class(word) == (Verb::Send, "message");
    let record = seen.pieces.iter().filter(|other| std::sync::Arc::ptr_eq(&other.record, &piece.record));
    piece.hostile || record.filter(|other| other.order).any(|other| words(&other.text).iter().any(sends))
}

/// Whether an action opens a link that the request points to: the only one in the texts, one to the site of its writer, or
/// any one in what was looked up under a name that the request has ("all links in the general channel").
pub(super) fn is_link(claim: &Claim, asked: &str, seen: &Seen) -> bool {
    let opens = claim.reads || claim.tool.iter().any(|word| LINKS.1.contains(&word.as_str()));
    let [value] = claim.sites.as_slice() else { return false };
    let value = &plain(value);
    let sought = Sought::of(value);
    let holding = || seen.pieces.iter().filter(|piece| sought.is_in(&piece.plain));
    let looked_up = |piece: &Piece| {
        let names = piece.source.split_whitespace().filter_map(|part| part.split_once('='));
        names.into_iter().any(|(_, name)| name.len() >= 3 && holds(asked, &plain(name)))
    };
    if opens && ALL_LINKS.iter().any(|word| holds(asked, word)) && holding().any(|p| !p.hostile && looked_up(p)) {
        return true;
    }
    let Some(own) = host(value).filter(|_| opens && LINKS.0.iter().any(|word| holds(asked, word))) else {
        return false;
    };
    let writes = |piece: &Piece| {
        let site = piece
            .record
            .sender
            .rsplit_once('@')
            .and_then(|(_, site)| host(&format!("https://{}", site.trim_matches('>'))));
        site.is_some_and(|site| own == site || own.ends_with(&format!(".{site}")))
    };
    let hosts: BTreeSet<String> = seen
        .pieces
        .iter()
        .flat_map(|piece| piece.plain.split_whitespace())
        .filter_map(|word| host(word.get(word.find("://")?..).and_then(|rest| rest.get(3..))?))
        .collect();
    let some = holding().next().is_some() && !holding().any(|piece| piece.hostile);
    some && (hosts.len() == 1 || holding().any(writes))
}

/// Whether a piece is a row of a list that begins with a value: others begin with one of the same form.
fn is_row(piece: &Piece, value: &str, seen: &Seen) -> bool {
    let first = |piece: &Piece| piece.plain.split([' ', ',', ';', '|', '\t']).next().unwrap_or_default().to_owned();
    let digits = |text: &str| text.bytes().any(|b| b.is_ascii_digit());
    let form = |text: &str| (text.len(), text.bytes().take_while(u8::is_ascii_alphabetic).count());
    let beside = |other: &Piece| {
        let own = first(other);
        other.source == piece.source && own != value && digits(&own) && form(&own) == form(value)
    };
    digits(value) && first(piece) == value && seen.pieces.iter().any(beside)
}

/// Whether a value is the address of the one who speaks: `Ann Lee <ann@x.example>, 3 May:`.
fn is_label(piece: &Piece, value: &str) -> bool {
    piece.plain.find(&format!("<{value}>")).is_some_and(|at| {
        piece.plain.get(..at).is_some_and(|name| !name.trim().is_empty() && name.split_whitespace().count() <= 5)
    })
}

/// A value in the forms in which a text may have it.
struct Sought<'v> {
    value: &'v str,
    /// Without the scheme and `www.` of an address.
    address: Option<&'v str>,
    /// A number of an account, which is written with blanks as well.
    number: bool,
}

impl<'v> Sought<'v> {
    fn of(value: &'v str) -> Self {
        let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
        let rest = rest.strip_prefix("www.").unwrap_or(rest).trim_end_matches('/');
        let digits = value.bytes().filter(u8::is_ascii_digit).count();
        let number = digits >= 6 && value.bytes().all(|b| b.is_ascii_alphanumeric());
        Self { value, address: (rest != value && rest.contains('.')).then_some(rest), number }
    }

    fn is_in(&self, text: &str) -> bool {
        holds(text, self.value)
            || self.address.is_some_and(|address| holds(text, address))
            || self.number && spaced(text, self.value)
    }
}

/// Whether a text has a number with blanks or hyphens between its parts.
fn spaced(text: &str, number: &str) -> bool {
    let joined: String = text.chars().filter(|c| !matches!(c, ' ' | '-' | '\u{a0}')).collect();
    joined.contains(number)
}

/// An identifier that means nothing by itself, if the thing that it was looked up for is what a text orders, and not
/// what the request asks for.
fn meant(claim: &Claim, wanted: &BTreeSet<String>, seen: &Seen, voices: &Voices) -> Option<(String, Piece, bool)> {
    if claim.weight != Weight::Sink {
        return None;
    }
    let opaque = |value: &&String| {
        value.len() <= IDENTIFIER
            && value.bytes().any(|b| b.is_ascii_digit())
            && value.bytes().any(|b| b.is_ascii_alphabetic())
            && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    for value in claim.values.iter().filter(opaque) {
        let of = |piece: &&Piece| !piece.record.name.is_empty() && holds(&piece.record.text, value);
        let Some(record) = seen.pieces.iter().find(of).map(|piece| &piece.record) else { continue };
        let name: BTreeSet<String> = stems(&record.name).into_iter().filter(|stem| stem.len() >= 3).collect();
        if name.is_empty() || !name.is_disjoint(wanted) {
            continue;
        }
        let says = |(piece, word): &(&Piece, &Word)| {
            let said = stems(&piece.text).intersection(&name).count();
            (piece.object || piece.hostile)
                && !word.is_users()
                && (said >= 2 || said == name.len())
                && said * 2 >= name.len()
        };
        if let Some((quote, word)) = seen.pieces.iter().zip(&voices.of).find(says) {
            return Some((value.clone(), quote.clone(), *word == Word::Named));
        }
    }
    None
}

/// Whether an action enters a code that a service has sent, because it demands one for the task at hand.
pub(super) fn is_step(claim: &Claim, seen: &Seen) -> bool {
    let pieces = || seen.pieces.iter().filter(|piece| !piece.hostile);
    let has = |value: &String| pieces().any(|piece| Sought { value, address: None, number: true }.is_in(&piece.plain));
    // an instruction does not explain what else the call has
    let data = |value: &String| pieces().any(|piece| !piece.object && holds(&piece.plain, value));
    let own = |value: &String| {
        let used = || pieces().any(|piece| holds(&plain(&piece.source), value));
        claim.codes.contains(value) || !identifying(value) || data(value) || used()
    };
    let demanded = |piece: &Piece| stems(&piece.text).iter().any(|stem| DEMANDS.contains(&stem.as_str()));
    // a code goes to the service that demands it, and to nobody else
    let sends = !claim.to.is_empty() && matches!(class(&claim.tool.join("_")), (Verb::Send, _));
    !sends
        && !claim.codes.is_empty()
        && claim.values.iter().all(own)
        && claim.codes.iter().all(has)
        && pieces().any(demanded)
}
