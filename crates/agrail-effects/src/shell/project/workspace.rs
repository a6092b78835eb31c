//! The members of a workspace of JavaScript packages.

use crate::shell::{Shell, tidy};
use serde_json::Value;

/// How many folders above the working folder may be the root of the workspace.
const ABOVE: usize = 16;
/// Most members, most folders that are looked at, and how deep `**` reaches.
const MOST: usize = 32;
const LOOKED_AT: usize = 512;
const DEEPEST: usize = 4;
/// Longest file of a workspace, in bytes.
const LONGEST: usize = 64 * 1024;

impl Shell<'_> {
    /// The root of the workspace that a folder belongs to, and the folders of its members; `None` if they are not known
    /// or too many.
    pub(in crate::shell) fn members(&self, start: &str) -> Option<(String, Vec<String>)> {
        let above = |folder: &String| folder.rsplit_once('/').map(|(above, _)| above.to_owned());
        let mut folders = std::iter::successors(Some(start.to_owned()), above).take(ABOVE);
        let (root, patterns) = folders.find_map(|folder| Some((folder.clone(), self.patterns(&folder)?)))?;
        let mut all = Vec::new();
        let mut looked_at = 0;
        for pattern in patterns.iter().filter(|pattern| !pattern.starts_with('!')) {
            let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
            self.matching(&root, &parts, 0, &mut looked_at, &mut all)?;
        }
        all.sort();
        all.dedup();
        let has_package = |folder: &String| {
            !self.read_contents(&format!("{folder}/package.json")).is_err_and(|unread| unread.is_missing())
        };
        all.retain(|folder| *folder != root && has_package(folder));
        (all.len() <= MOST).then_some((root, all))
    }

    /// The patterns of the members that the files of a folder name.
    fn patterns(&self, folder: &str) -> Option<Vec<String>> {
        let text = |name: &str| {
            let content = self.read_contents(&tidy(&format!("{folder}/{name}"))).ok()?.into_iter().next()?;
            String::from_utf8(content).ok().filter(|text| text.len() <= LONGEST)
        };
        let of_pnpm = text("pnpm-workspace.yaml").and_then(|text| serde_saphyr::from_str::<Value>(&text).ok());
        let of_package = || text("package.json").and_then(|text| self.package_file(text.as_bytes()));
        let list = match of_pnpm {
            Some(file) => file.get("packages")?.clone(),
            None => {
                let workspaces = of_package()?.file.get("workspaces")?.clone();
                workspaces.get("packages").cloned().unwrap_or(workspaces)
            }
        };
        list.as_array()?.iter().map(|one| one.as_str().map(str::to_owned)).collect()
    }

    /// Adds the folders below a folder that match the parts of a pattern; `None` if they are too many or not known.
    fn matching(
        &self,
        folder: &str,
        parts: &[&str],
        depth: usize,
        looked_at: &mut usize,
        into: &mut Vec<String>,
    ) -> Option<()> {
        let Some((part, rest)) = parts.split_first() else {
            into.push(folder.to_owned());
            return Some(());
        };
        *looked_at += 1;
        if *looked_at > LOOKED_AT {
            return None;
        }
        if !part.contains(['*', '?', '[', '{']) {
            return self.matching(&tidy(&format!("{folder}/{part}")), rest, depth, looked_at, into);
        }
        if *part == "**" {
            self.matching(folder, rest, depth, looked_at, into)?;
        }
        let pattern = glob::Pattern::new(part).ok()?;
        for name in self.around.names(folder)?.folders {
            if name == "node_modules" || name.starts_with('.') || !pattern.matches(&name) {
                continue;
            }
            let below = format!("{folder}/{name}");
            if *part != "**" {
                self.matching(&below, rest, depth, looked_at, into)?;
            } else if depth < DEEPEST {
                self.matching(&below, parts, depth + 1, looked_at, into)?;
            }
        }
        Some(())
    }
}
