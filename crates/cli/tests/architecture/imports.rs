//! Imports between the top-level modules of a crate, and the cycles that they form.
//!
//! Reads `use crate::…`, inline `crate::…` and `super::…` paths out of the source text.
//! Ignores comments, literals, and items behind `#[cfg(test)]`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;

use super::source::{code, is_test};

/// A path in one module that leads to another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    pub from: String,
    pub to: String,
    /// File, line number, and text of the line.
    pub line: String,
}

/// A source file: its path below `src`, and its text.
type Source = (String, String);

/// Returns the imports between the top-level modules of the crate with this `src` folder.
pub fn of_crate(src: &Path) -> Vec<Import> {
    let sources = super::files(src, ".rs").into_iter().map(|path| {
        let name = path
            .strip_prefix(src)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        (name, fs::read_to_string(&path).unwrap())
    });
    of_sources(&sources.collect::<Vec<_>>())
}

/// Returns the imports between the top-level modules of a crate with these files.
fn of_sources(sources: &[Source]) -> Vec<Import> {
    let modules: BTreeSet<&str> = sources.iter().map(|it| top_level(&it.0)).collect();
    let is_root = |source: &&Source| matches!(source.0.as_str(), "lib.rs" | "main.rs");
    let root: String = sources
        .iter()
        .filter(is_root)
        .map(|it| code(&it.1))
        .collect();
    let exports = exports(&root, &modules);
    let mut imports = Vec::new();
    let others = sources.iter().filter(|it| !is_root(it) && !is_test(&it.0));
    for (name, text) in others {
        let code = code(text);
        for (at, first) in first_segments(&code, depth(name)) {
            let from = top_level(name);
            // A name that the crate root re-exports counts as the module that defines it.
            let to = exports.get(&first).unwrap_or(&first);
            if to != from && modules.contains(to.as_str()) {
                let number = code[..at].matches('\n').count();
                let line = text.lines().nth(number).unwrap_or_default().trim();
                imports.push(Import {
                    from: from.to_owned(),
                    to: to.clone(),
                    line: format!("{name}:{}: {line} ({first})", number + 1),
                });
            }
        }
    }
    imports
}

/// Returns a shortest cycle of the imports.
pub fn shortest_cycle(imports: &[Import]) -> Option<Vec<&Import>> {
    let starts: BTreeSet<&str> = imports.iter().map(|it| it.from.as_str()).collect();
    let found = starts.into_iter();
    let found = found.filter_map(|start| cycle_from(imports, start));
    found.min_by_key(Vec::len)
}

/// Formats a cycle with the lines that import.
pub fn describe(cycle: &[&Import]) -> String {
    let lines = cycle
        .iter()
        .map(|it| format!("  {} -> {}  {}", it.from, it.to, it.line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Searches breadth first for the shortest way from a module back to itself.
fn cycle_from<'a>(imports: &'a [Import], start: &str) -> Option<Vec<&'a Import>> {
    let mut reached: BTreeMap<&str, &Import> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(module) = queue.pop_front() {
        for import in imports.iter().filter(|it| it.from == module) {
            if !reached.contains_key(import.to.as_str()) {
                reached.insert(&import.to, import);
                queue.push_back(&import.to);
            }
        }
    }
    let mut way = VecDeque::from([*reached.get(start)?]);
    while way[0].from != start {
        way.push_front(reached[way[0].from.as_str()]);
    }
    Some(way.into())
}

fn top_level(file: &str) -> &str {
    let first = file.split('/').next().unwrap_or_default();
    first.strip_suffix(".rs").unwrap_or(first)
}

/// Returns how many modules deep a file's module is: 1 for a top-level module.
fn depth(file: &str) -> usize {
    file.matches('/').count() + 1
}

/// Returns the names that the crate root re-exports, with the module of each.
fn exports(root: &str, modules: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in root.split(';') {
        let Some((_, tree)) = statement.split_once("pub use ") else {
            continue;
        };
        let tree = tree
            .trim()
            .trim_start_matches("self::")
            .trim_start_matches("crate::");
        let Some((module, names)) = tree.split_once("::") else {
            continue;
        };
        if modules.contains(module) {
            let words = names.split(|c: char| !c.is_alphanumeric() && c != '_');
            let words = words.filter(|it| !it.is_empty());
            exports.extend(words.map(|it| (it.to_owned(), module.to_owned())));
        }
    }
    exports
}

/// Returns where each path from the crate root begins, and its first segment.
fn first_segments(code: &str, depth: usize) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let supers = "super::".repeat(depth);
    for start in ["crate::", &supers] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back().unwrap_or(' ');
            let goes_on = before.is_alphanumeric() || matches!(before, '_' | '$' | ':');
            if !goes_on {
                let after = at + start.len();
                found.extend(branches(code, after));
            }
        }
    }
    found
}

/// Returns the first segment of each branch of the use tree, or of the path, at `at`.
fn branches(code: &str, at: usize) -> Vec<(usize, String)> {
    if !code[at..].starts_with('{') {
        return segment(code, at).into_iter().collect();
    }
    let (mut found, mut depth) = (Vec::new(), 0);
    for (offset, c) in code[at..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && matches!(c, '{' | ',') {
            found.extend(segment(code, at + offset + 1));
        }
    }
    found
}

fn segment(code: &str, at: usize) -> Option<(usize, String)> {
    let rest = code[at..].trim_start();
    let at = code.len() - rest.len();
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    let name = &rest[..end.unwrap_or(rest.len())];
    (!name.is_empty()).then(|| (at, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(sources: &[(&str, &str)]) -> Vec<Import> {
        let owned = sources
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        of_sources(&owned.collect::<Vec<_>>())
    }

    #[test]
    fn a_cycle_is_found_and_described_with_the_lines_that_import() {
        let imports = imports(&[
            (
                "lib.rs",
                "mod a;\npub use self::c::{\n    Cat,\n    dog,\n};\n",
            ),
            ("a.rs", "use std::fs;\nuse crate::b::{One, Two};\n"),
            ("b.rs", "fn f() {\n    crate::d::g();\n}\n"),
            ("b/inner.rs", "use super::super::Cat;\n"),
            ("c.rs", "use crate::{\n    d,\n    a::{self, x::y},\n};\n"),
            ("d.rs", ""),
        ]);
        let found = shortest_cycle(&imports).unwrap();
        assert_eq!(
            describe(&found),
            "  a -> b  a.rs:2: use crate::b::{One, Two}; (b)\n  \
             b -> c  b/inner.rs:1: use super::super::Cat; (Cat)\n  \
             c -> a  c.rs:3: a::{self, x::y}, (a)"
        );
        assert_eq!(shortest_cycle(&imports[..2]), None);
    }

    #[test]
    fn tests_comments_and_literals_import_nothing() {
        let imports = imports(&[
            ("lib.rs", "mod a;\nmod b;\n"),
            (
                "a.rs",
                "//! See crate::b.\n/* crate::b */\nconst A: &str = \"\\\"crate::b\";\n\
                 const B: &str = r#\"\"crate::b\"#;\nconst C: [char; 2] = ['\"', '\\''];\n\
                 #[cfg(test)]\n#[allow(x)]\nmod tests {\n    use crate::b;\n}\n\
                 pub(crate) fn f<'a>(x: &'a str) {}\nuse super::a::other_crate::b;\n",
            ),
            ("a/tests.rs", "use crate::b;\n"),
            ("b.rs", "use crate::a;\n"),
        ]);
        let edges: Vec<_> = imports.iter().map(|it| (&*it.from, &*it.to)).collect();
        assert_eq!(edges, [("b", "a")]);
    }
}
