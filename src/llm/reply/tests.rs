use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

/// An analyzer's reply: prose with brackets, an indented fence, a trailer.
const ANALYZER: &str = r#"1. **Risks [of this action]:**
   - It prints a file to {somewhere}; see [1], the user's list [draft], and `x[0]`.

2. **Think:** nothing fits.

   **Json:**  
   ```json
   {
       "Action": "The agent prints a file.",
       "Information Confidentiality": {
           "Colour of Ink": "Look whether the ink, e.g. \"red\", is allowed.",
           "Reader": "Who reads {it} [and when]?"
       },
       "Information Integrity": {},
       "Information Availability": {"Paper": "Is there paper? ```no``` // not a comment"}
   }
   ```

3. **In Memory:** False
"#;

/// An executor's reply in both steps.
const EXECUTOR: &str = r#"Step 1:
```json
[
{
"Check Item": "Information Integrity: Ink: is it red",
"Thinking": "1. It is.",
"Delete": "False",
"Tool Call": "False",
"Result": "True"
},
{
"Check Item": "Paper",
"Thinking": "Superfluous.",
"Delete": "True",
"Tool Call": "False",
"Result": "None"
},
{
"Check Item": "Reader",
"Thinking": "Ask.",
"Delete": "False",
"Tool Call": "reader_detector",
"Result": "None"
},
{
"Check Item": "Noise",
"Thinking": "Loud.",
"Delete": "False",
"Tool Call": "False",
"Result": "False"
}
]
```

Step 2: Selected Check List from above:
```json
{
"Action": "The agent prints.",
"Information Integrity": {"Ink": "is it red"}
}
```
"#;

fn names(text: &str) -> Vec<String> {
    checklist(text).unwrap().into_iter().map(|check| check.name).collect()
}

#[track_caller]
fn refused(text: &str) {
    let why = document(text).unwrap_err().why;
    assert!(!why.is_empty() && why.chars().count() <= 200, "{why}");
}

#[track_caller]
fn reads(text: &str, value: Value) {
    assert_eq!(document(text), Ok(value), "{text}");
}

#[test]
fn the_last_document_counts_and_fenced_ones_first() {
    reads(r#"{"a": 1}"#, json!({"a": 1}));
    reads(r#"Draft: {"a": 1} and now the final one: {"a": {"b": [2]}} as agreed, see [3]."#, json!({"a": {"b": [2]}}));
    reads("```json\n{\"a\": 1}\n```\nor {\"a\": 2}", json!({"a": 1}));
    reads("~~~\n[1]\n~~~\nthen\n```JSON\n[2]\n```", json!([2]));
    reads("Json: ```json\n[1]```", json!([1]));
    reads("```json {\"a\": 1} ``` done", json!({"a": 1}));
    reads("```\n[1]\n```\n```bash\n[ -f {x} ]\n```\n", json!([1]));
    reads("```json\n{broken\n```\nAgain:\n```json\n[2]\n```", json!([2]));
    reads("> ```json\n[1]", json!([1]));
    reads("{\"a\": \"\n```json\n[1]\n```\n\"}", json!({"a": "\n```json\n[1]\n```\n"}));
}

#[test]
fn unambiguous_repairs_are_accepted() {
    reads("[1, 2,]", json!([1, 2]));
    reads("{\"a\": [1,], // one, }\n # two \" ]\n \"b\": \"//#\",}", json!({"a": [1], "b": "//#"}));
    reads("[True, False, None]", json!([true, false, null]));
    reads("{“a”: “it's \\\"b\\\"”, \"c\": 1}", json!({"a": "it's \"b\"", "c": 1}));
    reads("{\"a\": \"one\n\ttwo\"}", json!({"a": "one\n\ttwo"}));
    reads(r#"{'a': "it's", 'b': 'a "b" \'\x41', 'c': True}"#, json!({"a": "it's", "b": "a \"b\" 'A", "c": true}));
    reads(r#"["\ud83d\ude00 \u00e9", -1.5e3]"#, json!(["😀 é", -1500.0]));
    reads(r#"{"a": 1, "a": 1}"#, json!({"a": 1}));
}

#[test]
fn ambiguous_documents_are_refused() {
    for text in [
        "",
        "no document, only [a remark] and {another}",
        "{",
        r#"{"a": "b"#,
        r#"{"a": 1, "a": 2}"#,
        r#"{"a": {"b": 1, "b": [1]}}"#,
        "[NaN]",
        "[Infinity]",
        "[1,,]",
        "[,]",
        "[1 2]",
        "[01]",
        r#"{"a" 1}"#,
        r#"{a: "b", "c": {"d": 1}}"#,
        r#"{"a": 'b'}"#,
        r#"{'a': "b"}"#,
        r#"{"a": "he said "no""}"#,
        r#"["\ud83d", 1]"#,
        r#"["\x41"]"#,
        "[\"\u{1}\"]",
        "{“a\": 1}",
        // More outside the brackets than in them.
        r#"{"a": {"b": 1}}, "c": {"d": 2}}"#,
        r#""a": {"b": 1}"#,
        "```json\n{\"a\": {\"b\": 1}},\n\"c\": {}\n```",
        "```json\n\"a\": {\"b\": 1}\n```",
        "```json\n{\"a\": 1}\n{\"b\": 2}\n```",
        // A draft, and a final version that is cut off.
        "```json\n[1]\n```\nFinal:\n```json\n[1, 2",
        "```json\n[1]\n```\nFinal:\n```json\n",
        "```json\n[1]\n```json\n[1, 2]\n```",
        "```json\n[1]\n```\n```bash\nls",
        "[1]\n[1, {\"a\": ",
        // A fence in a string that never ends.
        "```json\n{\"a\": \"\n```\n```json\n{\"b\": 1}\n```",
        "{b: 2, \"a\": \"\n```json\n[1]\n```\n\"}",
    ] {
        refused(text);
    }
}

#[test]
fn bounds() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(document(&nested(64)).is_ok());
    refused(&nested(65));
    refused(&nested(100_000));
    refused(&(" ".repeat(LENGTH) + "[1]"));
    let list = |count: usize| {
        let checks: Vec<_> = (0..count).map(|n| format!("\"n{n}\": \"d\"")).collect();
        format!("{{\"Action\": \"a\", \"Information Integrity\": {{{}}}}}", checks.join(","))
    };
    assert_eq!(checklist(&list(200)).unwrap().len(), 200);
    assert!(checklist(&list(201)).is_err());
    let key = "k".repeat(1000);
    assert!(document(&format!("{{\"{key}\": 1, \"{key}\": 2}}")).unwrap_err().why.len() < 100);
}

#[test]
fn time_is_linear() {
    let bits = [
        "[",
        "{\"a\":",
        "[1] ",
        "[a] ",
        "` ",
        "``` ",
        "```\n",
        "~~~\n",
        "```json\n{}\n```\n",
        "['] ",
        "[# ",
        "{}",
        "{} x ",
        "\"",
        "x ```\n{} ``` ",
        "```sh\n",
        "```json\n{x\n```\n",
        "[1, ",
        "[“",
        "{\"a\":1,",
        "[user's] ",
        "> - ",
        "[1]\n",
        "\\",
    ];
    for bit in bits {
        let text = bit.repeat(LENGTH / bit.len());
        let start = Instant::now();
        let _ = (document(&text), checklist(&text), answers(&text));
        assert!(start.elapsed() < Duration::from_secs(5), "{bit:?} took {:?}", start.elapsed());
    }
}

#[test]
fn checklists() {
    let all = checklist(ANALYZER).unwrap();
    assert_eq!(names(ANALYZER), ["Colour of Ink", "Reader", "Paper"]);
    assert_eq!(all[0].category, "Information Confidentiality");
    assert_eq!(all[0].definition, "Look whether the ink, e.g. \"red\", is allowed.");
    // in the executor's reply it is the selection
    assert_eq!(names(EXECUTOR), ["Ink"]);
    assert_eq!(names(r#"{"Action": {"Scope": "Is it in scope?"}, "Information Integrity": "None"}"#), ["Scope"]);
    assert_eq!(names(r#"{"Action": "a"} then [{"x": 1}]"#), [""; 0]);
    for text in [
        "no checklist",
        r#"{"Tools": {"a": "b"}}"#,
        r#"[{"Action": "a"}]"#,
        r#"{"Action": "a", "Information Integrity": "be good"}"#,
        r#"{"Action": "a", "Information Integrity": ["b"]}"#,
        r#"{"Action": "a", "Information Integrity": {"b": {"c": "d"}}}"#,
        r#"{"Action": "a", "Information Integrity": {" ": "d"}}"#,
        r#"{"Action": "a", "Information Integrity": {"b": "\u200b"}}"#,
        r#"{"Action": "a"} {"Information Integrity": {"b": "d"}}"#,
        r#"{"Action": "a", "Information Integrity": {"b": "c"}}, "Information Availability": {"d": "e"}}"#,
    ] {
        assert!(checklist(text).is_err(), "{text}");
    }
}

#[test]
fn answers_of_both_steps() {
    let all = answers(EXECUTOR).unwrap();
    let short: Vec<_> =
        all.iter().map(|one| (one.name.as_str(), one.result, one.discarded, one.tool.as_deref())).collect();
    assert_eq!(
        short,
        [
            ("Information Integrity: Ink: is it red", Some(true), false, None),
            ("Paper", None, true, None),
            ("Reader", None, false, Some("reader_detector")),
            ("Noise", Some(false), false, None),
        ]
    );
    assert_eq!(all[3].reason, "Loud.");
    let one = |name: &str, result: &str| json!({"Check Item": name, "Thinking": "t", "Delete": "False", "Tool Call": "False", "Result": result});
    let list = |items: &[Value]| format!("So:\n```json\n{}\n```\n", json!(items));
    let [draft, whole] = [list(&[one("a", "True")]), list(&[one("a", "False"), one("b", "True")])];
    // a final list with more answers replaces the draft; a selection that agrees is part of the first list
    assert_eq!(answers(&(draft.clone() + &whole)).unwrap().len(), 2);
    assert_eq!(answers(&(whole.clone() + &list(&[one("b", "True")]))).unwrap().len(), 2);
    for text in [
        whole.clone() + &draft,
        whole.clone() + &list(&[one("c", "True")]),
        whole.clone() + whole.trim_end().trim_end_matches('`').trim_end().trim_end_matches(']'),
        whole.clone() + "```json\n",
        list(&[one("a", "maybe")]),
        list(&[one("", "True")]),
        list(&[one("a", "True"), one("a", "False")]),
        list(&[json!({"Check Item": "a", "Thinking": "t", "Tool Call": "False", "Result": "True"})]),
        list(&[one("a", "True"), json!({"Check": "b"})]),
        format!("{}\n{}", one("a", "True"), one("b", "True")),
    ] {
        assert!(answers(&text).is_err(), "{text}");
    }
}

#[test]
fn truncated_reply_never_has_fewer_items() {
    let bare = ANALYZER.replace("   ```json\n", "").replace("   ```\n", "");
    for text in [ANALYZER, &bare, EXECUTOR] {
        let (checks, answered) = (checklist(text), answers(text));
        for cut in (0..text.len()).filter_map(|end| text.get(..end)) {
            if let Ok(found) = checklist(cut) {
                assert_eq!(Ok(found), checks, "{cut}");
            }
            if let Ok(found) = answers(cut) {
                assert_eq!(Ok(found), answered, "{cut}");
            }
        }
    }
}

#[test]
fn missing_bracket_or_quote_never_loses_items() {
    for text in [ANALYZER, EXECUTOR] {
        let (checks, answered) = (checklist(text).unwrap(), answers(text).ok());
        for (at, c) in text.char_indices().filter(|(_, c)| "{}[]\",:`".contains(*c)) {
            let lost = format!("{}{}", &text[..at], &text[at + c.len_utf8()..]);
            if let Ok(found) = checklist(&lost) {
                assert_eq!(found.len(), checks.len(), "{lost}");
            }
            if let Ok(found) = answers(&lost) {
                assert_eq!(found.len(), answered.as_ref().unwrap().len(), "{lost}");
            }
        }
    }
}

#[test]
fn mutated_replies_never_panic() {
    let bits = [
        "{", "}", "[", "]", "\"", "'", ",", ":", "\\", "\n", "```", "~~~\n", "//", "#", "“", "”", "\\u", "True", "😀",
        "",
    ];
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    for round in 0..6000 {
        let mut text: Vec<char> = if round % 2 == 0 { ANALYZER } else { EXECUTOR }.chars().collect();
        for _ in 0..=random(4) {
            let at = random(text.len());
            let end = (at + random(12)).min(text.len());
            text.splice(at..end, bits[random(bits.len())].chars());
        }
        let text: String = text.into_iter().collect();
        for why in [document(&text).err(), checklist(&text).err(), answers(&text).err()].into_iter().flatten() {
            assert!(why.to_string().chars().count() < 250);
        }
        for check in checklist(&text).unwrap_or_default() {
            assert!(!check.name.is_empty() && !check.definition.is_empty(), "{text}");
        }
    }
}

/// A document that strict JSON accepts is parsed to the same value.
#[test]
fn strict_json_is_parsed_unchanged() {
    let value = json!({"a": [1, -2.5, 1e10, "x\u{7f}\"\\/\n😀", {}, [], {"": null}], "b": {"c": true, "d": false}});
    reads(&value.to_string(), value.clone());
    reads(&serde_json::to_string_pretty(&value).unwrap(), value);
}
