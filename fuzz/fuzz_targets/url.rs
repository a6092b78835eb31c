//! The URL policy: no panic; an admitted URL is admitted again in its parsed form and leads to no internal address.
#![no_main]

use agrail::net::{UrlPolicy, address};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let policy = UrlPolicy::default();
    for url in [text.to_owned(), format!("http://{text}")] {
        let Ok(admitted) = policy.judge(&url) else { continue };
        assert!(policy.judge(admitted.url().as_str()).is_ok(), "the parsed form gets another decision: {url}");
        let host = admitted.url().host_str().unwrap_or_default().trim_matches(['[', ']']);
        if let Ok(found) = host.parse() {
            assert!(address::refuse(found).is_none(), "leads to an internal address: {url}");
        }
    }
});
