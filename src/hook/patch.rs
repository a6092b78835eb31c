//! Parses a patch of `apply_patch` into the changes that it makes to files.

/// A change to one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The file is created or changed.
    Write {
        /// The file.
        path: String,
        /// The added lines.
        added: String,
    },
    /// The file is deleted, or moved elsewhere.
    Delete {
        /// The file.
        path: String,
    },
}

/// The changes of a patch in their order; `None` if the text is not a patch.
pub(super) fn changes(patch: &str) -> Option<Vec<Change>> {
    let mut changes = Vec::new();
    for line in patch.lines() {
        let path = |lead: &str| line.trim().strip_prefix(lead).map(|p| p.trim().to_owned()).filter(|p| !p.is_empty());
        if let Some(path) = path("*** Add File:").or_else(|| path("*** Update File:")) {
            changes.push(Change::Write { path, added: String::new() });
        } else if let Some(path) = path("*** Delete File:") {
            changes.push(Change::Delete { path });
        } else if let Some(new) = path("*** Move to:") {
            let Some(Change::Write { path: old, added }) = changes.pop() else { return None };
            changes.push(Change::Delete { path: old });
            changes.push(Change::Write { path: new, added });
        } else if let (Some(text), Some(Change::Write { added, .. })) = (line.strip_prefix('+'), changes.last_mut()) {
            added.push_str(text);
            added.push('\n');
        }
    }
    (!changes.is_empty()).then_some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patch_yields_every_changed_file() {
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-old\n+new\n*** Update File: b\n*** Move to: c\n+x\n*** Delete File: d\n*** End Patch";
        let write = |path: &str, added: &str| Change::Write { path: path.to_owned(), added: added.to_owned() };
        let delete = |path: &str| Change::Delete { path: path.to_owned() };
        let expected = vec![write("a", "new\n"), delete("b"), write("c", "x\n"), delete("d")];
        assert_eq!(changes(patch), Some(expected));
        assert_eq!(changes("no patch"), None);
        assert_eq!(changes("*** Move to: x"), None);
    }
}
