//! The length and the nesting of each function.

use std::fs;
use std::path::Path;

use super::files;
use super::source::{code, is_test};

/// Most lines of a function, from its name to its end, without comments and blank lines.
const MOST_LINES: usize = 60;
/// Lines of a function that can be read at a glance.
const FEW_LINES: usize = 35;
/// Number of functions that may have more than [`FEW_LINES`].
const MOST_LONG: usize = 15;
/// Most blocks of control flow inside each other.
const MOST_NESTING: usize = 4;

/// A function, as it is measured.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    /// Its file, line number, and first line.
    place: String,
    lines: usize,
    nesting: usize,
}

/// Returns the functions of a file in Rust that have a body, tests excluded.
fn of_rust(file: &str, text: &str) -> Vec<Function> {
    let code = code(text);
    let mut functions = Vec::new();
    let mut start = 0;
    for line in code.split_inclusive('\n') {
        let declares = line.split_whitespace().take_while(|it| *it != "fn");
        let is_function = line.contains("fn ") && declares.clone().all(is_qualifier);
        if is_function && let Some(body) = body(&code[start..]) {
            let whole = &code[start..start + body.end];
            functions.push(Function {
                place: place(file, text, code[..start].matches('\n').count()),
                lines: whole.lines().filter(|it| !it.trim().is_empty()).count(),
                nesting: nesting(&code[start..][body]),
            });
        }
        start += line.len();
    }
    functions
}

/// Returns true for a word that may precede `fn` in a declaration.
fn is_qualifier(word: &str) -> bool {
    // `pub(in crate::module)` has a blank inside.
    word.starts_with("pub")
        || word.ends_with(')')
        || ["const", "async", "unsafe", "extern"].contains(&word)
}

/// Returns the body of the function at the beginning of `code`. A trait's function may have
/// none.
fn body(code: &str) -> Option<std::ops::Range<usize>> {
    let mut depth = 0;
    let mut start = None;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => {
                if depth == 0 && c == '{' {
                    start = Some(at + 1);
                }
                depth += 1;
            }
            ')' | ']' | '}' => depth -= 1,
            ';' if depth == 0 => return None,
            _ => {}
        }
        if depth == 0 && c == '}' {
            return start.map(|start| start..at + 1);
        }
    }
    None
}

/// Returns how many blocks of control flow are inside each other. Blocks of structs, closures,
/// and `async` don't count.
fn nesting(body: &str) -> usize {
    let mut open = Vec::new();
    let mut most = 0;
    let mut before = String::new();
    for c in body.chars() {
        match c {
            '{' => {
                let mut words = before.split(|c: char| !c.is_alphanumeric() && c != '_');
                let flow = ["if", "else", "match", "for", "while", "loop"];
                open.push(words.any(|it| flow.contains(&it)));
                most = most.max(open.iter().filter(|it| **it).count());
            }
            '}' => drop(open.pop()),
            ';' => {}
            c => {
                before.push(c);
                continue;
            }
        }
        before.clear();
    }
    most
}

/// Returns the functions of a file in Lua. Relies on the layout of StyLua: `end` has the indent
/// of the line that it ends.
fn of_lua(file: &str, text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut functions = Vec::new();
    for (number, first) in lines.iter().enumerate() {
        let is_comment = first.trim_start().starts_with("--");
        let below = &lines[number + 1..];
        let is_end = |it: &&str| it.trim_start().starts_with("end") && indent(it) == indent(first);
        if !is_comment
            && let Some((_, rest)) = first.split_once("function")
            && has_parameters(rest)
            && !rest.contains("end")
            && let Some(end) = below.iter().position(is_end)
        {
            let inner = below[..end].iter().map(|it| it.trim_start());
            let inner = inner.filter(|it| !it.is_empty() && !it.starts_with("--"));
            functions.push(Function {
                place: place(file, text, number),
                lines: inner.count() + 2,
                nesting: 0,
            });
        }
    }
    functions
}

/// Returns true if a name, or none, and parameters follow the word "function", which may also
/// be in a string.
fn has_parameters(rest: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
    rest.trim_start()
        .trim_start_matches(is_name)
        .starts_with('(')
}

fn place(file: &str, text: &str, number: usize) -> String {
    let line = text.lines().nth(number).unwrap_or_default().trim();
    format!("{file}:{}: {line}", number + 1)
}

/// Returns all functions of the project that are no tests.
fn all(root: &Path) -> Vec<Function> {
    let sources = fs::read_dir(root.join("crates")).unwrap().flatten();
    let sources = sources
        .map(|it| it.path().join("src"))
        .chain([root.join("lua")]);
    let mut functions = Vec::new();
    for folder in sources {
        for file in files(&folder, "") {
            let name = file.strip_prefix(root).unwrap().to_string_lossy();
            match file.extension().and_then(|it| it.to_str()) {
                Some("rs") if !is_test(&name) => {
                    functions.extend(of_rust(&name, &fs::read_to_string(&file).unwrap()));
                }
                Some("lua") => functions.extend(of_lua(&name, &fs::read_to_string(&file).unwrap())),
                _ => {}
            }
        }
    }
    functions
}

fn listed<'a>(functions: impl Iterator<Item = &'a Function>) -> String {
    let lines = functions.map(|it| {
        format!(
            "\n  {} lines, nesting {}: {}",
            it.lines, it.nesting, it.place
        )
    });
    lines.collect()
}

#[test]
fn functions_are_short_and_flat() {
    let functions = all(&super::root());
    assert!(functions.len() > 4000, "{} functions", functions.len());
    let faults = functions
        .iter()
        .filter(|it| it.lines > MOST_LINES || it.nesting > MOST_NESTING);
    let faults = listed(faults);
    assert!(faults.is_empty(), "take these apart:{faults}");
    let long = functions.iter().filter(|it| it.lines > FEW_LINES);
    assert!(
        long.clone().count() <= MOST_LONG,
        "more than {MOST_LONG} functions have over {FEW_LINES} lines:{}",
        listed(long)
    );
}

#[test]
fn comments_and_tests_do_not_count() {
    let text = "impl A {\n    /// fn no() {}\n    pub(in crate::b) const fn a(\n        x: [u8; 2],\n    ) {\n        // Why.\n\n        \
                if x {\n            f(\"}\");\n        }\n    }\n}\n\
                #[cfg(test)]\nmod tests {\n    fn t() {}\n}\ntrait T {\n    fn none(&self) -> [u8; 2];\n}\n";
    let expected = Function {
        place: "a.rs:3: pub(in crate::b) const fn a(".to_owned(),
        lines: 7,
        nesting: 1,
    };
    assert_eq!(of_rust("a.rs", text), [expected]);
    let text = "--- A function.\nlocal function a()\n  -- Why.\n  if x then\n  end\nend\nlocal b = function() end\n";
    let expected = Function {
        place: "a.lua:2: local function a()".to_owned(),
        lines: 4,
        nesting: 0,
    };
    assert_eq!(of_lua("a.lua", text), [expected]);
}

#[test]
fn only_control_flow_nests() {
    assert_eq!(nesting("a(|| { b })"), 0);
    assert_eq!(nesting("match a { A { x } => if x { y } else { z }, }"), 2);
    assert_eq!(nesting("for a in b { f(); } while c { Struct { d } }"), 1);
}
