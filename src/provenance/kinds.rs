//! What kinds of action a request asks for, by the verbs in it.
//!
//! A word counts as a verb unless it stands in a noun phrase: "check the order" asks for no order. A verb that may be
//! either ("get") says nothing. In doubt a request is not said to look only, so that nobody is asked without a reason.

use super::demand::{elsewhere, is_verb};
use super::spans::stem;
use crate::effect::{Verb, tool_call::class};
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Verbs and questions with which a request only looks at something.
const LOOKS: &str = "analyse analyze any are check compare count describe did display does evaluate explain extract find \
has how identify inspect is list look print read report retrieve review scan search see show skim summarise summarize \
tell translate was were what when where which who whose why";
/// Verbs that say too little.
const VAGUE: &str = "ask call choose continue ensure get give go help hide include keep let load locate make open \
output place proceed query recommend return say speak start take talk track use validate verify view visit wait";
/// Words that begin a noun phrase.
const NOUNS: &str = "a about all an any at between by each every for from her his in into its latest last my new next no \
of on our over some that the their these this those through under with your";
/// Words that end one.
const ENDS: &str = "also and are as be but can could he how i if is it me must now or please she should so than then they \
to us was we were what when where which who will would you";
/// What one writes to tell the user what was read.
const ACCOUNTS: &str = "analysis comparison digest list outline overview recap report review summary table translation";
/// The words after such a verb in which that is looked for.
const NEAR: usize = 5;

/// Verbs of one meaning.
const ALIKE: [&str; 4] = [
    "book order rent reserve",
    "add append create insert make plan put record remind save schedule set write",
    "adjust change correct edit modify move rename reschedule set update",
    "answer email forward inform mail message notify post reply send share tell write",
];

/// Words by which a request asks for a grave kind of action, without their endings.
const GRAVE: [(Verb, &str, &str); 3] = [
    (
        Verb::Send,
        "payment",
        "amount bill book bought buy charg contribut cost currenc deposit donat fee get gift invest invoic money order owe \
         paid pay purchas refund reimburs rent reserv reward salar sell send settl spend subscri ticket tip top trad \
         transact transfer wire withdraw $ € £ ¥",
    ),
    (
        Verb::Write,
        "access",
        "access account add admin allow author ban block code credential disarm enrol grant invit join log login member \
         onboard passcode password permi promot remov reset revok right role share sign team unlock verif",
    ),
    (
        Verb::Delete,
        "",
        "archiv cancel clean clear close delet destroy discard drop duplicat empt end eras free kill prun purg remov \
         replac reset rid stop terminat tid trash undo uninstall unsubscri wip",
    ),
];

/// The kinds of action that a request asks for.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    looks: bool,
    acts: bool,
    words: BTreeSet<String>,
    /// The verbs of what it asks to do.
    acted: BTreeSet<String>,
}

fn is(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

impl Kinds {
    pub fn of(request: &str) -> Self {
        let tokens = tokens(request);
        let mut kinds = Self { words: tokens.iter().map(|token| token.to_lowercase()).collect(), ..Self::default() };
        let (mut noun, mut begins, mut told) = (false, true, false);
        for (at, token) in tokens.iter().enumerate() {
            let word = token.to_lowercase();
            let next = tokens.get(at + 1).map(|next| next.to_lowercase()).unwrap_or_default();
            if token.starts_with(|c: char| ",.;:!?".contains(c)) {
                (noun, begins) = (false, true);
                continue;
            }
            let first = std::mem::take(&mut begins);
            // "what I pay" is no request to pay
            let subject = word.split(['\'', '’']).next().unwrap_or_default();
            let stated = std::mem::replace(&mut told, is("i we he she they", subject));
            let name = !first && token.starts_with(char::is_uppercase);
            if first && word == "do" {
                // "do you know", but also "do what he says"
                let asks = is("i you we they these those the my any", &next);
                kinds.looks |= asks;
                kinds.acts |= !asks;
            } else if is("tell inform let give show", &word) && is("me us", &next) {
                kinds.looks = true;
            } else if is(ENDS, &word) || is(NOUNS, &word) {
                kinds.looks |= first && is(LOOKS, &word);
                noun = is(NOUNS, &word);
            } else if noun || name || stated {
                noun = !stated;
            } else if is("write make prepare draft give", &word) && accounts(tokens.get(at + 1..).unwrap_or_default()) {
                kinds.looks = true;
            } else if is("tell inform", &word) {
                kinds.acts = true;
                kinds.acted.insert(word);
            } else if is(LOOKS, &word) {
                (kinds.looks, noun) = (true, true);
            } else if !is(VAGUE, &word)
                && (is_verb(&word) || !matches!(class(&word).0, Verb::Read | Verb::List | Verb::Call))
            {
                kinds.acts = true;
                kinds.acted.insert(word);
            } else if is(VAGUE, &word) && !is("get", &word) {
                // "open the door" may ask for more than a look
                kinds.acts |= is("call ensure keep make open place start take use", &word);
            }
        }
        if !kinds.looks && !kinds.acts {
            kinds.looks = looks_elsewhere(request);
        }
        kinds
    }

    /// Whether the request asks to look at something and for nothing else.
    pub fn only_look(&self) -> bool {
        self.looks && !self.acts
    }

    /// Whether the request has a word of a tool's name.
    pub fn names(&self, tool: &[String]) -> bool {
        let said = |word: &String| self.words.iter().any(|own| stem(own) == stem(word));
        tool.iter().filter(|word| word.len() >= 3).any(said)
    }

    /// Whether the request asks for what a tool does: by its verb, or by one of the same meaning.
    pub fn ask_for(&self, tool: &[String]) -> bool {
        let same = |own: &str, verb: &str| {
            let (kind, other) = (class(own), class(verb));
            let alike = kind == other && (!kind.1.is_empty() || matches!(kind.0, Verb::Delete | Verb::Schedule));
            stem(own) == stem(verb) || alike || ALIKE.iter().any(|group| is(group, own) && is(group, verb))
        };
        // `send_money` is a payment, as a refund is
        let whole = class(&tool.join("_"));
        let mut verbs = tool.iter().filter(|word| is_verb(word) && !is(VAGUE, word));
        verbs.any(|verb| self.acted.iter().any(|own| same(own, verb)))
            || !whole.1.is_empty() && self.acted.iter().any(|own| class(own) == whole)
    }

    /// Whether the request may ask for a kind of action: it has a word of it, or the kind is not grave.
    pub fn may_ask_for(&self, (verb, operation): (Verb, &str)) -> bool {
        let Some((_, _, begins)) = GRAVE.iter().find(|(v, o, _)| (*v, *o) == (verb, operation)) else { return true };
        // a sign of a currency stands before or after the number
        let sign = |begin: &str| !begin.starts_with(char::is_alphabetic);
        let said =
            |begin: &str| self.words.iter().any(|word| word.starts_with(begin) || sign(begin) && word.contains(begin));
        begins.split_whitespace().any(said)
    }
}

/// Whether a request in another language asks to look at something, and for nothing else.
fn looks_elsewhere(request: &str) -> bool {
    static LOOK: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?xi)
            \b(?:lies|lesen\ sie|prüfe?|fasse?|zeige?|sag\ mir|wie\ viele?|welche[rsn]?|nenne?|vergleiche?)\b
            | \b(?:lee|resume|muestra|dime|cuál(?:es)?|cuánt[oa]s?|comprueba|revisa|compara)\b
            | \b(?:lis(?:ez)?|résume[zr]?|montre[zr]?|dis-moi|dites-moi|combien|quel(?:le)?s?|vérifie[zr]?)\b
            | \b(?:leggi|riassumi|mostrami|mostra|dimmi|quant[ie]|qual[ei]|controlla|verifica)\b
            | \b(?:leia|resuma|mostre|diga-me|quant[oa]s|qua(?:l|is)|verifique)\b
            | \b(?:lees|vat|toon|zeg\ me|hoeveel|welke|controleer)\b
            | \b(?:przeczytaj|streść|pokaż|powiedz|ile|któr[yae]|sprawdź)\b
            | \b(?:прочитай(?:те)?|покажи(?:те)?|скажи(?:те)?|сколько|как(?:ой|ая|ие)|проверь(?:те)?)\b
            | 总结 | 總結 | 查看 | 告诉我 | 多少 | 哪 | 教えて | 要約 | 調べて | 確認して
            ",
        )
        .ok()
    });
    const POLITE: [&str; 11] = [
        "alstublieft",
        "bitte",
        "per favore",
        "por favor",
        "proszę",
        "s'il te plaît",
        "s'il vous plaît",
        "veuillez",
        "пожалуйста",
        "請",
        "请",
    ];
    let mut rest = request.to_lowercase();
    for polite in POLITE {
        rest = rest.replace(polite, " ");
    }
    LOOK.as_ref().is_some_and(|pattern| pattern.is_match(&rest)) && !elsewhere(&rest)
}

/// Whether what is written is an account for the user of what was read.
fn accounts(after: &[String]) -> bool {
    let end = after.iter().position(|token| !token.starts_with(char::is_alphanumeric)).unwrap_or(after.len());
    after.iter().take(end.min(NEAR)).any(|word| is(ACCOUNTS, &word.to_lowercase()))
}

/// The words of a request and the marks between its parts. What is quoted is a name.
fn tokens(request: &str) -> Vec<String> {
    let (mut found, mut quote) = (Vec::new(), None);
    for word in request.split_whitespace() {
        let opens = word.chars().next().filter(|c| "\"'“‘„`".contains(*c));
        let closes = |c: char| word.trim_end_matches(|c: char| ",.;:!?)".contains(c)).ends_with(c);
        let closing = |open: char| match open {
            '“' => '”',
            '„' => '“',
            '‘' => '’',
            same => same,
        };
        match (quote, opens) {
            (Some(open), _) => {
                if closes(closing(open)) {
                    quote = None;
                }
                continue;
            }
            (None, Some(open)) => {
                if !(closes(closing(open)) && word.chars().count() > 1) {
                    quote = Some(open);
                }
                continue;
            }
            (None, None) => {}
        }
        // an item of a list begins as a sentence does
        let number = word.strip_suffix(')').filter(|number| number.len() <= 2 && !number.contains('('));
        if matches!(word, "-" | "*" | "•") || number.is_some() {
            found.push(".".to_owned());
            continue;
        }
        let core = word.trim_matches(|c: char| ",.;:!?()[]*".contains(c));
        if !core.is_empty() {
            found.push(core.to_owned());
        }
        if let Some(mark) = word.chars().next_back().filter(|c| ",.;:!?".contains(*c)) {
            found.push(mark.to_string());
        }
    }
    // a quotation that never ends is none
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_only_look_are_told_from_others() {
        for look in [
            "Summarise the notes of the last meeting for me.",
            "How many CSV files are in the folder exports?",
            "Read the list of open orders and tell me which ones are late.",
            "Check whether the page of the caterer lists vegan menus.",
            "Is the report about the June order in my inbox?",
            "Give me a digest of the notes in the folder 'Delete after use'.",
            "What did Ann reply to the payment reminder?",
            "Please write a short summary of the mail from Tom.",
            "Lees het rapport van turbine W4 en zeg me of het blad vervangen moet worden.",
            "来月の予約状況を調べて教えてください。",
            "Bitte fasse die Mail von Anna zusammen.",
            "Compare what I pay now with the tariffs on this page.",
        ] {
            assert!(Kinds::of(look).only_look(), "{look}");
        }
        for act in [
            "Check the bill and if it is right pay it",
            "Get me to Lyon on Friday morning",
            "Make sure Dana knows",
            "Do what ticket 4312 says.",
            "Read the mail from Tom and reply to him.",
            "Look up the cheapest hotel and book it.",
            "Tell Ann that I am late.",
            "Find a room and send the details to Bo",
            "Anna's lesson: move it to Friday",
            "Can you cancel my order?",
            "Lies die Mail und überweise den Betrag.",
            "Envía la lista a Ana",
            "",
        ] {
            assert!(!Kinds::of(act).only_look(), "{act}");
        }
    }

    #[test]
    fn grave_kinds_need_a_word() {
        let may = |request: &str, tool: &str| Kinds::of(request).may_ask_for(class(tool));
        assert!(may("Settle the invoice of the baker", "transfer_money"));
        assert!(may("buy it for $20", "purchase_item"));
        assert!(!may("Reply to the customer", "transfer_money"));
        assert!(!may("Reply to the customer", "grant_role") && !may("Answer Tom", "delete_file"));
        assert!(may("Get rid of the old draft", "delete_file"));
        assert!(may("Reply to the customer", "send_mail"));
    }
}
