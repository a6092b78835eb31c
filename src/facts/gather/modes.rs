//! What a mode of `chmod` gives and takes.

use crate::effect::UNKNOWN_SPAN;

/// Whether the mode takes read or enter permission from the owner, or may do so.
pub(super) fn shuts(mode: &str) -> bool {
    mode.split([',', ' ']).any(|clause| {
        if !clause.is_empty() && clause.chars().all(|c| c.is_digit(8)) {
            return u32::from_str_radix(clause, 8).is_ok_and(|bits| bits & 0o500 != 0o500);
        }
        let Some(place) = clause.find(['-', '=']) else { return clause.contains(UNKNOWN_SPAN) };
        let (who, rights) = clause.split_at(place);
        let owner = who.is_empty() || who.contains(['u', 'a']);
        let left = |right: char| !rights.contains(right);
        owner && if rights.starts_with('-') { !left('r') || !left('x') } else { left('r') || left('x') }
    })
}

/// Whether the mode lets everyone write, or sets setuid or setgid.
pub(super) fn widens(mode: &str) -> bool {
    mode.split([',', ' ']).any(|clause| {
        if !clause.is_empty() && clause.chars().all(|c| c.is_digit(8)) {
            return u32::from_str_radix(clause, 8).is_ok_and(|bits| bits & 0o6002 != 0);
        }
        let Some(place) = clause.find(['+', '=']) else { return clause.contains(UNKNOWN_SPAN) };
        let (who, rights) = clause.split_at(place);
        (who.contains(['o', 'a']) && rights.contains('w')) || rights.contains('s') || rights.contains(UNKNOWN_SPAN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_that_widen_access_are_recognised() {
        for mode in ["777", "0666", "o+w", "a+rwx", "a=rw", "u+s", "4755", "2755", "u=rw,o+w", "1777"] {
            assert!(widens(mode), "{mode}");
        }
        for mode in ["755", "644", "u+w", "+x", "a+r", "go-w", "o-w", "600", "u+rwx", ""] {
            assert!(!widens(mode), "{mode}");
        }
    }

    #[test]
    fn modes_that_lock_out_the_owner_are_recognised() {
        for mode in ["000", "0", "077", "a-x", "-r", "u=", "u=w", "a-rwx", "644", "u-rx"] {
            assert!(shuts(mode), "{mode}");
        }
        for mode in ["700", "755", "0500", "go-rwx", "o-x", "u+x", "+x", "u=rwx", "a+r", ""] {
            assert!(!shuts(mode), "{mode}");
        }
    }
}
