//! The nodes of a syntax tree as one array in the order of the text. Readers visit the same nodes again and again
//! (loops, calls, branches), and a step in an array is much cheaper than one through the parser's own tree.

use super::Grammar;
use std::ops::Range;
use std::str::Utf8Error;
use std::sync::{Arc, LazyLock};
use tree_sitter::Language;

/// Number of the nodes that the parser makes where a text breaks the grammar.
const ERROR: u16 = u16::MAX;

const NAMED: u8 = 1;
const MISSING: u8 = 2;
const BROKEN: u8 = 4;

/// A node; its children follow it directly, and `after` is the index of the first node that is not below it.
#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u32,
    end: u32,
    first_row: u32,
    last_row: u32,
    parent: u32,
    after: u32,
    kind: u16,
    /// The field of the parent that it stands for; 0 if none.
    field: u16,
    flags: u8,
}

/// The words of a grammar, by their numbers.
#[derive(Debug)]
struct Words {
    kinds: Vec<&'static str>,
    fields: Vec<&'static str>,
}

impl Words {
    fn new(language: &Language) -> Self {
        let all = |count: usize| 0..=u16::try_from(count).unwrap_or(ERROR);
        Self {
            kinds: all(language.node_kind_count())
                .map(|id| language.node_kind_for_id(id).unwrap_or_default())
                .collect(),
            fields: all(language.field_count()).map(|id| language.field_name_for_id(id).unwrap_or_default()).collect(),
        }
    }

    fn of(grammar: Grammar) -> &'static Self {
        macro_rules! words {
            ($grammar:expr) => {{
                static WORDS: LazyLock<Words> = LazyLock::new(|| Words::new(&$grammar.language()));
                &WORDS
            }};
        }
        match grammar {
            Grammar::Bash => words!(Grammar::Bash),
            Grammar::Python => words!(Grammar::Python),
            Grammar::JavaScript => words!(Grammar::JavaScript),
            Grammar::TypeScript => words!(Grammar::TypeScript),
            Grammar::Tsx => words!(Grammar::Tsx),
        }
    }
}

/// A syntax tree. A copy shares the nodes.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    nodes: Arc<[Entry]>,
    words: &'static Words,
}

impl Tree {
    /// `None` if the text is longer than 4 GB, or nested deeper than the readers of the grammar go.
    pub(super) fn new(grammar: Grammar, parsed: &tree_sitter::Tree) -> Option<Self> {
        let mut nodes: Vec<Entry> = Vec::new();
        let mut cursor = parsed.walk();
        let mut parent = 0;
        let mut depth = 0;
        loop {
            let at = u32::try_from(nodes.len()).ok()?;
            nodes.push(entry(&cursor, parent)?);
            if cursor.goto_first_child() {
                parent = at;
                depth += 1;
                if depth > grammar.deepest() {
                    return None;
                }
                continue;
            }
            let mut last = at;
            loop {
                let after = u32::try_from(nodes.len()).ok()?;
                let node = nodes.get_mut(last as usize)?;
                node.after = after;
                parent = node.parent;
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    return Some(Self { nodes: nodes.into(), words: Words::of(grammar) });
                }
                depth -= 1;
                last = parent;
            }
        }
    }

    pub(crate) fn root_node(&self) -> Node<'_> {
        Node { tree: self, at: 0 }
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }
}

fn entry(cursor: &tree_sitter::TreeCursor<'_>, parent: u32) -> Option<Entry> {
    let node = cursor.node();
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    Some(Entry {
        start: u32::try_from(node.start_byte()).ok()?,
        end: u32::try_from(node.end_byte()).ok()?,
        first_row: u32::try_from(node.start_position().row).ok()?,
        last_row: u32::try_from(node.end_position().row).ok()?,
        parent,
        after: 0,
        kind: node.kind_id(),
        field: cursor.field_id().map_or(0, Into::into),
        flags: flag(node.is_named(), NAMED) | flag(node.is_missing(), MISSING) | flag(node.has_error(), BROKEN),
    })
}

/// A node of a tree; its methods are those of [`tree_sitter::Node`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'t> {
    tree: &'t Tree,
    at: u32,
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at && std::ptr::eq(self.tree, other.tree)
    }
}

impl<'t> Node<'t> {
    fn entry(&self) -> &'t Entry {
        static NOTHING: Entry =
            Entry { start: 0, end: 0, first_row: 0, last_row: 0, parent: 0, after: 0, kind: 0, field: 0, flags: 0 };
        self.tree.nodes.get(self.at as usize).unwrap_or(&NOTHING)
    }

    /// The address of the node, different for all nodes that live.
    pub(crate) fn id(&self) -> usize {
        std::ptr::from_ref(self.entry()).addr()
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.tree.words.kinds.get(usize::from(self.entry().kind)).copied().unwrap_or("ERROR")
    }

    pub(crate) fn is_named(&self) -> bool {
        self.entry().flags & NAMED != 0
    }

    pub(crate) fn is_missing(&self) -> bool {
        self.entry().flags & MISSING != 0
    }

    pub(crate) fn is_error(&self) -> bool {
        self.entry().kind == ERROR
    }

    /// Whether the text of the node breaks the grammar somewhere.
    pub(crate) fn has_error(&self) -> bool {
        self.entry().flags & BROKEN != 0
    }

    pub(crate) fn start_byte(&self) -> usize {
        self.entry().start as usize
    }

    pub(crate) fn end_byte(&self) -> usize {
        self.entry().end as usize
    }

    pub(crate) fn byte_range(&self) -> Range<usize> {
        self.start_byte()..self.end_byte()
    }

    /// The first and the last line, from 0.
    pub(crate) fn rows(&self) -> (u32, u32) {
        (self.entry().first_row, self.entry().last_row)
    }

    pub(crate) fn utf8_text<'s>(&self, text: &'s [u8]) -> Result<&'s str, Utf8Error> {
        std::str::from_utf8(text.get(self.byte_range()).unwrap_or_default())
    }

    pub(crate) fn parent(&self) -> Option<Self> {
        (self.at != 0).then(|| Self { tree: self.tree, at: self.entry().parent })
    }

    pub(crate) fn children(&self) -> impl Iterator<Item = Node<'t>> + use<'t> {
        let (tree, end) = (self.tree, self.entry().after);
        let mut at = self.at.saturating_add(1);
        std::iter::from_fn(move || {
            let child = (at < end).then_some(Node { tree, at })?;
            at = child.entry().after;
            Some(child)
        })
    }

    pub(crate) fn named_children(&self) -> impl Iterator<Item = Node<'t>> + use<'t> {
        self.children().filter(Self::is_named)
    }

    pub(crate) fn child_count(&self) -> usize {
        self.children().count()
    }

    pub(crate) fn named_child_count(&self) -> usize {
        self.named_children().count()
    }

    pub(crate) fn named_child(&self, index: usize) -> Option<Self> {
        self.named_children().nth(index)
    }

    pub(crate) fn children_by_field_name<'n>(&self, name: &'n str) -> impl Iterator<Item = Node<'t>> + use<'t, 'n> {
        let fields = &self.tree.words.fields;
        self.children().filter(move |child| fields.get(usize::from(child.entry().field)).is_some_and(|f| *f == name))
    }

    pub(crate) fn child_by_field_name(&self, name: &str) -> Option<Self> {
        self.children_by_field_name(name).next()
    }

    /// The smallest named node below this one, or this one, that spans the bytes.
    pub(crate) fn named_descendant_for_byte_range(&self, start: usize, end: usize) -> Option<Self> {
        let spans = |node: &Self| node.start_byte() <= start && end <= node.end_byte();
        let mut found = None;
        let mut next = Some(*self).filter(spans);
        while let Some(node) = next {
            found = Some(node).filter(Self::is_named).or(found);
            next = node.children().find(spans);
        }
        found
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::{Grammar, Node, Tree};

    const TEXTS: [(Grammar, &str); 10] = [
        (Grammar::Bash, "for x in a \"$b\"; do cat <<'E' | tee \"$x\" && (cd ..; ls >o 2>&1); done # c\n text\nE\n"),
        (Grammar::Bash, "a=(1 2) b=${c:-$(d)} e >f <<<g; case $1 in x|y) z;; *) [[ -f $q ]] ;; esac; f() { g; }"),
        (Grammar::Bash, "if x; then ( ; fi ) \"$("),
        (
            Grammar::Python,
            "@d(1)\nasync def f(a, b: int = 2, *c, **k) -> int:\n    return [x async for x in y if x][1:2, 3]\n",
        ),
        (
            Grammar::Python,
            "try:\n    import a.b as c\nexcept (A, B) as e:\n    raise\nelse:\n    print(f'{c!r:>{w}}', end='')\n",
        ),
        (
            Grammar::Python,
            "match x:\n    case [1, *r] if a < b < c:\n        del r\nwith open(p) as f, g() as h: x = y = 1\n",
        ),
        (Grammar::Python, "def (:\n  x = [1,\n"),
        (
            Grammar::JavaScript,
            "export default class A extends B { static #p = `a${b}`; get c() { return [...d, , e] } }",
        ),
        (
            Grammar::TypeScript,
            "function f<T>(private readonly a?: T, ...b: number[]): void { for (const {c, d = 1} of e) {} }",
        ),
        (Grammar::Tsx, "const a = <B c={d} {...e}>text {f ? g : h}</B>; label: while (i--) { if (a = ) break label }"),
    ];

    fn same(own: Node<'_>, theirs: tree_sitter::Node<'_>, fields: &[&str], text: &[u8]) {
        assert_eq!(own.kind(), theirs.kind());
        assert_eq!(own.byte_range(), theirs.byte_range());
        assert_eq!(own.utf8_text(text).ok(), theirs.utf8_text(text).ok());
        let rows = (theirs.start_position().row as u32, theirs.end_position().row as u32);
        assert_eq!(own.rows(), rows);
        assert_eq!(
            (own.is_named(), own.is_missing(), own.is_error(), own.has_error()),
            (theirs.is_named(), theirs.is_missing(), theirs.is_error(), theirs.has_error())
        );
        assert_eq!(own.parent().map(|n| n.byte_range()), theirs.parent().map(|n| n.byte_range()));
        assert_eq!((own.child_count(), own.named_child_count()), (theirs.child_count(), theirs.named_child_count()));
        assert_eq!(own.named_child(1).map(|n| n.byte_range()), theirs.named_child(1).map(|n| n.byte_range()));
        for field in fields {
            let one = |node: tree_sitter::Node<'_>| (node.kind(), node.byte_range());
            let mine = own.child_by_field_name(field).map(|n| (n.kind(), n.byte_range()));
            // theirs may also find a node further below
            let other = theirs.child_by_field_name(field).filter(|n| n.parent() == Some(theirs)).map(one);
            assert_eq!(mine, other, "{field} of {}", own.kind());
            let mut cursor = theirs.walk();
            let mine: Vec<_> = own.children_by_field_name(field).map(|n| (n.kind(), n.byte_range())).collect();
            assert_eq!(mine, theirs.children_by_field_name(field, &mut cursor).map(one).collect::<Vec<_>>());
        }
        let mut cursor = theirs.walk();
        let (mine, other): (Vec<_>, Vec<_>) = (own.children().collect(), theirs.children(&mut cursor).collect());
        assert_eq!(mine.len(), other.len());
        mine.into_iter().zip(other).for_each(|(own, theirs)| same(own, theirs, fields, text));
    }

    #[test]
    fn a_node_answers_like_that_of_the_parser() {
        for (grammar, text) in TEXTS {
            let mut parser = tree_sitter::Parser::new();
            parser.set_language(&grammar.language()).unwrap();
            let parsed = parser.parse(text, None).unwrap();
            let tree = Tree::new(grammar, &parsed).unwrap();
            same(tree.root_node(), parsed.root_node(), &tree.words.fields[1..], text.as_bytes());
        }
    }

    #[test]
    fn the_smallest_named_node_that_spans_some_bytes_is_found() {
        for (grammar, text) in TEXTS {
            let mut parser = tree_sitter::Parser::new();
            parser.set_language(&grammar.language()).unwrap();
            let parsed = parser.parse(text, None).unwrap();
            let tree = Tree::new(grammar, &parsed).unwrap();
            for (start, end) in (0..text.len()).flat_map(|start| (start + 1..=text.len()).map(move |end| (start, end)))
            {
                let own = tree.root_node().named_descendant_for_byte_range(start, end);
                let theirs = parsed.root_node().named_descendant_for_byte_range(start, end);
                assert_eq!(
                    own.map(|n| (n.kind(), n.byte_range())),
                    theirs.map(|n| (n.kind(), n.byte_range())),
                    "{text}"
                );
            }
        }
    }
}
