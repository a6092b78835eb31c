use super::*;

fn check(page: &str, want: &[(HiddenBy, &str)]) {
    let (found, unread) = hidden(page);
    let got: Vec<(HiddenBy, &str)> = found.iter().map(|h| (h.why, h.text.as_str())).collect();
    assert_eq!((got.as_slice(), unread), (want, 0), "{page}");
}

#[test]
fn each_way_of_hiding_is_found() {
    check("<p>seen</p><!-- a comment -->", &[(HiddenBy::Comment, "a comment")]);
    check("<img alt='do this'> text", &[(HiddenBy::Attribute, "do this")]);
    check(
        "<div style='display:none'>one<br><div>two</div></div>three",
        &[(HiddenBy::Invisible, "one"), (HiddenBy::Invisible, "two")],
    );
    check("<b hidden>away</b>back", &[(HiddenBy::Invisible, "away")]);
    check("<i style='position:absolute; left: -9999px'>far</i>", &[(HiddenBy::OffScreen, "far")]);
    check("<i style='color:#FFFFFF'>pale</i>", &[(HiddenBy::SameColour, "pale")]);
    check("<i style='color: black; background:#000'>dark</i>", &[(HiddenBy::SameColour, "dark")]);
    check("<i style='font-size:0'>tiny</i>", &[(HiddenBy::ZeroSize, "tiny")]);
    check("<i style='color:red'>plain</i> and text", &[]);
}

#[test]
fn hidden_text_matches_what_browsers_hide() {
    let lie = &[(HiddenBy::Invisible, "a lie")][..];
    for page in [
        "<style>.x{display:none}</style><p class='y x'>a lie</p><p>true</p>",
        "<style>a:hover{} @media all { div > .x:before, #z { opacity: 0 } }</style><b id=z>a lie</b> true",
        "<style>.x/* } */{display:/**/none}</style><p class=x>a lie</p>",
        "<div style='opacity:0'/>a lie</div>true",
        "<span style='opacity:0'><div></span>a lie</div></span>true",
        "<dialog>a lie</dialog>true",
        "<svg><title>a lie</title></svg>true",
        "<p hidden>a lie<p>true",
        "<div hidden><p>a lie</div>true",
    ] {
        check(page, lie);
    }
    check("<i style='left:-9999px !important'>a lie</i>", &[(HiddenBy::OffScreen, "a lie")]);
    check("<i style='color:#fefefe'>a lie</i>", &[(HiddenBy::SameColour, "a lie")]);
    check("<i style='color:#777'>seen</i><dialog open>seen</dialog>", &[]);
}

#[test]
fn too_many_hiding_rules_are_not_clean() {
    let decoys: String = (0..MOST).map(|n| format!(".c{n}{{display:none}}")).collect();
    let page = format!("<style>{decoys}.x{{display:none}}</style><p class=x>a lie</p>");
    assert!(unshown(&page).unread > 0);
}

#[test]
fn short_hidden_stretches_are_cut_too() {
    let page = "opened in 18<span style='font-size:0'>00 or 19</span>87";
    let cuts: Vec<&str> = unshown(page).cuts.into_iter().map(|c| &page[c]).collect();
    assert_eq!(cuts, ["00 or 19"]);
}

#[test]
fn a_hundred_thousand_tags_deep_is_bounded() {
    let page = format!("{}inside{}", "<div style='display:none'>".repeat(100_000), "</div>".repeat(100_000));
    let (found, _) = hidden(&page);
    assert_eq!(found[0].text, "inside");
}

#[test]
fn texts_over_budget_are_counted() {
    let (found, unread) = hidden(&"<!-- some words -->".repeat(MOST + 10));
    assert_eq!((found.len(), unread), (MOST, 100));
}
