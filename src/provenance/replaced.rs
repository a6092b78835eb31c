//! Sinks with which a text puts something else in the place of what the user said or has: another day, another payee, a
//! credential. That a request points to the text does not explain these.

use super::claim::Claim;
use super::dates::{days, in_words};
use super::read::{Piece, Seen};
use super::spans::{holds, stem, words};
use super::unasked::{Unasked, says, slot_of};
use super::voices::Voices;
use crate::effect::{Verb, tool_call::class};

/// Longest value that names a day and is no text, in bytes.
const LONG: usize = 40;
/// Shortest word of the name of a tool by which an instruction asks for what it does.
const SHORT: usize = 4;
/// Words of tools that change what is paid later.
const PAYMENTS: [&str; 9] =
    ["beneficiary", "payee", "payment", "payments", "payroll", "standing", "subscription", "transaction", "transfer"];
/// Words of arguments for who is paid.
const PAYEES: [&str; 8] = ["account", "bank", "beneficiary", "iban", "payee", "recipient", "to", "wallet"];
/// Words of tools and arguments for what proves who one is.
const SECRETS: [&str; 14] = [
    "2fa",
    "authentication",
    "authenticator",
    "credential",
    "credentials",
    "factor",
    "mfa",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "pin",
    "recovery",
    "secret",
];
/// Words of tools that let somebody in.
const GRANTS: [&str; 11] = [
    "access",
    "admin",
    "admins",
    "collaborator",
    "group",
    "guest",
    "member",
    "owner",
    "permission",
    "permissions",
    "role",
];

/// What a text replaces.
pub(super) fn replaced(claim: &Claim, asked: &str, seen: &Seen, voices: &Voices) -> Option<Unasked> {
    of_day(claim, asked, seen, voices)
        .or_else(|| of_payee(claim, asked, seen))
        .or_else(|| of_secret(claim, asked, seen))
}

/// A day that an instruction orders for what the tool does, while the request names others.
fn of_day(claim: &Claim, asked: &str, seen: &Seen, voices: &Voices) -> Option<Unasked> {
    let own = days(asked);
    let first = own.first()?;
    let other = |value: &&String| value.len() <= LONG && days(value).iter().any(|day| !own.contains(day));
    let values: Vec<&String> = claim.values.iter().filter(other).collect();
    let tool: Vec<&str> = claim.tool.iter().filter(|word| word.len() >= SHORT).map(|word| stem(word)).collect();
    let foreign = seen.pieces.iter().zip(&voices.of).filter(|(_, word)| !word.is_users()).map(|(piece, _)| piece);
    let mut orders = foreign.filter(|piece| piece.order || piece.hostile);
    let (quote, day) = orders.find_map(|piece| {
        let ordered = days(&piece.plain);
        let day =
            values.iter().flat_map(|value| days(value)).find(|day| !own.contains(day) && ordered.contains(day))?;
        words(&piece.text).iter().any(|word| tool.contains(&stem(word))).then_some((piece, day))
    })?;
    let why = format!(
        "a text that the agent has read orders this for {}, and the request names {}",
        in_words(day),
        in_words(*first)
    );
    Some(Unasked { why, quote: quote.clone() })
}

/// Who is paid from now on, if only what somebody wants names them.
fn of_payee(claim: &Claim, asked: &str, seen: &Seen) -> Option<Unasked> {
    let kind = class(&claim.tool.join("_"));
    if kind == (Verb::Send, "payment") || !claim.tool.iter().any(|word| PAYMENTS.contains(&word.as_str())) {
        return None;
    }
    let paid = |value: &&String| slot_of(claim, value).any(|word| PAYEES.contains(&word.as_str()));
    claim.values.iter().filter(paid).filter(|value| !holds(asked, value)).find_map(|value| {
        let holding: Vec<&Piece> = seen.pieces.iter().filter(|piece| holds(&piece.plain, value)).collect();
        let wanted = !holding.is_empty() && holding.iter().all(|piece| piece.object || says(piece));
        let why = format!("it changes who is paid, and the request does not name {value}");
        holding.first().filter(|_| wanted).map(|quote| Unasked { why, quote: (*quote).clone() })
    })
}

/// What lets somebody in, if the request has no word for it and a text has one that orders it.
fn of_secret(claim: &Claim, asked: &str, seen: &Seen) -> Option<Unasked> {
    let kind = class(&claim.tool.join("_")).0;
    let slots = claim.slots.iter().filter(|(_, value)| !value.is_empty()).flat_map(|(key, _)| key);
    let own = claim.tool.iter().chain(slots).filter(|word| SECRETS.contains(&word.as_str()));
    let grants = claim.tool.iter().filter(|word| kind != Verb::Send && GRANTS.contains(&word.as_str()));
    let secrets: Vec<&String> = own.chain(grants).collect();
    let secret = secrets.first()?;
    let has = |text: &str| words(text).iter().any(|word| secrets.iter().any(|secret| stem(secret) == stem(word)));
    if matches!(kind, Verb::Read | Verb::List) || has(asked) || asked.contains("log in") || asked.contains("sign in") {
        return None;
    }
    let quote = seen.pieces.iter().find(|piece| (piece.object || says(piece)) && has(&piece.text))?;
    let why = format!("a text that the agent has read asks for this {secret}, and the request does not");
    Some(Unasked { why, quote: quote.clone() })
}
