//! Paths and names that may be patterns, or not constant.

use crate::effect::UNKNOWN_SPAN;

/// The folder before the first part of an absolute path that is not constant.
pub(super) fn constant_folder(path: &str) -> Option<&str> {
    let varies = |part: &str| part.contains([UNKNOWN_SPAN, '*', '?', '[']);
    let mut end = 0;
    for part in path.split('/') {
        if varies(part) {
            // a `..` after it may lead anywhere
            let rest = path.get(end..).unwrap_or_default();
            if rest.split('/').any(|p| p == "..") {
                return path.get(..1).filter(|p| *p == "/");
            }
            let folder = path.get(..end.saturating_sub(1)).unwrap_or_default();
            return if !path.starts_with('/') || (end == 0) {
                None
            } else if folder.is_empty() {
                Some("/")
            } else {
                Some(folder)
            };
        }
        end += part.len() + 1;
    }
    None
}

/// The folders above a path, the nearest first, without the root.
pub(super) fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').rev().filter_map(|(at, _)| path.get(..at)).filter(|folder| !folder.is_empty())
}

/// Whether a name that may be a pattern or not constant can be this one. A pattern matches a hidden name only if it
/// begins with a dot.
pub(super) fn may_be(name: &str, this: &str) -> bool {
    if name.contains(UNKNOWN_SPAN) {
        return true;
    }
    let shown = name.starts_with('.') || !this.starts_with('.');
    shown && glob::Pattern::new(name).map_or(name == this, |pattern| pattern.matches(this))
}

pub(super) fn is_below(path: &str, folder: &str) -> bool {
    !folder.is_empty() && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_judged_by_their_constant_folder() {
        assert_eq!(constant_folder("/etc/*.conf"), Some("/etc"));
        assert_eq!(constant_folder("/*"), Some("/"));
        assert_eq!(constant_folder("/home/user/a"), None);
        assert_eq!(constant_folder(&format!("/srv/{UNKNOWN_SPAN}/x")), Some("/srv"));
        assert_eq!(constant_folder(&format!("/srv/a{UNKNOWN_SPAN}/x")), Some("/srv"));
        assert_eq!(constant_folder(&format!("/srv/{UNKNOWN_SPAN}/../../etc")), Some("/"));
        assert_eq!(constant_folder(&format!("{UNKNOWN_SPAN}/x")), None);
    }
}
