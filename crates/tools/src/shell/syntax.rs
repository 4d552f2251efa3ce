//! What commands a line of shell runs: read by a parser of bash, and once more by a
//! reader that only knows quotes and operators. Both must find the same words.
//!
//! Pure. Knows no program.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::words::{Builder, Variables, Word, has_braces, variable};

/// A command without anything inside it that would have to be looked into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Files that it reads by `<`.
    pub inputs: Vec<Word>,
}

/// Looks of the parser at how far it is before it is stopped: hostile text must not
/// keep anybody waiting.
const LOOKS: usize = 20_000;
/// Longest command whose programs are looked for (256 KB).
const MAX_LENGTH: usize = 256 * 1024;

/// The commands of a line that is nothing but commands.
///
/// # Errors
///
/// Something else is in it; the text is a noun with its article.
pub(super) fn read(text: &str, variables: &Variables) -> Result<Vec<Simple>, &'static str> {
    let is_odd = |it: char| (it.is_control() && it != '\n' && it != '\t') || is_hidden(it);
    if text.contains(is_odd) {
        return Err("characters that do not show");
    }
    let tree = parse(text)?;
    if tree.root_node().has_error() {
        return Err("something that cannot be read for certain");
    }
    let reader = Reader { text, variables };
    let mut commands = Vec::new();
    // In the order of the text: the last that was put here comes first.
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        match node.kind() {
            "program" | "list" | "pipeline" => {
                let mut cursor = node.walk();
                let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
                open.extend(children.into_iter().rev());
            }
            "command" | "redirected_statement" | "test_command" => {
                commands.push(reader.command(node)?)
            }
            ";" | "&&" | "||" | "|" | "\n" | "comment" => {}
            other => return Err(what(other)),
        }
    }
    let plain: Vec<Vec<String>> = commands
        .iter()
        .map(|it| it.words.iter().map(|it| it.value.clone()).collect())
        .collect();
    if plain == super::split::split(text, variables)? {
        Ok(commands)
    } else {
        Err("something that two readers do not agree on")
    }
}

/// Characters that are shown as nothing, or as a blank that is none.
fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{a0}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{206f}' | '\u{3000}' | '\u{feff}'
    )
}

/// Every command anywhere in the text with its words, quotes taken away: also those
/// inside expansions and behind programs that run others.
///
/// # Errors
///
/// The text cannot be read; the noun says why.
pub(super) fn names(text: &str) -> Result<Vec<Vec<String>>, &'static str> {
    if text.len() > MAX_LENGTH {
        return Err("more than 256 KB");
    }
    let tree = parse(text)?;
    let mut runs = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.kind() == "command" {
            let mut inner = node.walk();
            let words = node.named_children(&mut inner);
            let words =
                words.filter(|it| !matches!(it.kind(), "variable_assignment" | "file_redirect"));
            let words: Vec<String> = words.map(|it| unquoted(&text[it.byte_range()])).collect();
            runs.extend(
                (0..words.len())
                    .filter(|at| *at == 0 || runs_others(&words[..*at]))
                    .map(|at| words[at..].to_vec()),
            );
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(runs);
            }
        }
    }
}

/// Programs whose arguments are commands.
const WRAPPERS: [&str; 22] = [
    "builtin", "busybox", "chroot", "command", "doas", "env", "exec", "find", "ionice", "nice",
    "nohup", "setsid", "stdbuf", "strace", "sudo", "time", "timeout", "toybox", "unshare", "watch",
    "xargs", "parallel",
];

fn runs_others(before: &[String]) -> bool {
    before.iter().any(|it| WRAPPERS.contains(&super::base(it)))
}

fn unquoted(word: &str) -> String {
    word.replace(['\\', '"', '\''], "")
}

fn parse(text: &str) -> Result<Tree, &'static str> {
    const FAILED: &str = "something that cannot be read for certain";
    let mut parser = Parser::new();
    let language = tree_sitter_bash::LANGUAGE.into();
    parser.set_language(&language).map_err(|_| FAILED)?;
    let mut looks = 0;
    let mut look = |_: &_| {
        looks += 1;
        if looks > LOOKS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let mut rest = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut look);
    parser
        .parse_with_options(&mut rest, None, Some(options))
        .ok_or(FAILED)
}

/// Reads commands out of the parser's tree.
struct Reader<'a> {
    text: &'a str,
    variables: &'a Variables,
}

impl Reader<'_> {
    fn own(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    fn command(&self, node: Node<'_>) -> Result<Simple, &'static str> {
        let mut simple = Simple::default();
        if node.kind() == "test_command" {
            self.test(node, &mut simple.words)?;
            return Ok(simple);
        }
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "command" | "test_command" if node.kind() == "redirected_statement" => {
                    let inner = self.command(child)?;
                    simple.words.extend(inner.words);
                    simple.inputs.extend(inner.inputs);
                }
                "command_name" => {
                    let name = child.child(0).ok_or("a command without a name")?;
                    simple.words.push(self.word(name)?);
                }
                "file_redirect" => simple.inputs.extend(self.redirect(child)?),
                _ => simple.words.push(self.word(child)?),
            }
        }
        Ok(simple)
    }

    /// The words of `[ … ]`, which the parser makes an expression of.
    fn test(&self, node: Node<'_>, words: &mut Vec<Word>) -> Result<(), &'static str> {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "unary_expression" | "binary_expression" => self.test(child, words)?,
                "word" | "number" | "raw_string" | "string" | "concatenation"
                | "simple_expansion" | "expansion" => words.push(self.word(child)?),
                "[" | "]" | "test_operator" | "=" | "!=" | "==" | "!" => {
                    let mut builder = Builder::new(self.variables);
                    builder.literally(self.own(child));
                    words.push(builder.finish()?);
                }
                other => return Err(what(other)),
            }
        }
        Ok(())
    }

    /// The file that is read, if one is. Output may go to `/dev/null` or to where the
    /// rest of the output goes.
    fn redirect(&self, node: Node<'_>) -> Result<Option<Word>, &'static str> {
        const WRITES: &str = "a redirection into a file";
        let mut cursor = node.walk();
        let parts: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let parts: Vec<&Node<'_>> = parts
            .iter()
            .filter(|it| it.kind() != "file_descriptor")
            .collect();
        let [operator, target] = parts.as_slice() else {
            return Err(WRITES);
        };
        let target = self.word(**target)?;
        if target.is_pattern() {
            return Err("a redirection from a pattern");
        }
        match operator.kind() {
            "<" => Ok(Some(target)),
            ">&" if matches!(target.value.as_str(), "1" | "2") => Ok(None),
            ">" | ">>" | "&>" | "&>>" if target.value == "/dev/null" => Ok(None),
            _ => Err(WRITES),
        }
    }

    fn word(&self, node: Node<'_>) -> Result<Word, &'static str> {
        let mut builder = Builder::new(self.variables);
        self.add(node, &mut builder)?;
        builder.finish()
    }

    /// Adds a node to a word. Only a concatenation has pieces, and those have none.
    fn add(&self, node: Node<'_>, word: &mut Builder<'_>) -> Result<(), &'static str> {
        let own = self.own(node);
        match node.kind() {
            "word" | "number" if has_braces(own) => Err("braces"),
            "word" | "number" => word.bare(own),
            "raw_string" => {
                word.quoted(own.get(1..own.len() - 1).unwrap_or_default());
                Ok(())
            }
            "string" => {
                let mut cursor = node.walk();
                let is_known =
                    |kind| matches!(kind, "string_content" | "simple_expansion" | "expansion");
                let mut inner = node.named_children(&mut cursor);
                match inner.find(|it| !is_known(it.kind())) {
                    Some(_) => Err("an expansion"),
                    None => word.double_quoted(own.get(1..own.len() - 1).unwrap_or_default()),
                }
            }
            "simple_expansion" | "expansion" => {
                let found = own.strip_prefix('$').and_then(variable);
                match found.filter(|(_, rest)| rest.is_empty()) {
                    Some((name, _)) => word.variable(name, false),
                    None => Err("an expansion"),
                }
            }
            "concatenation" if own == "{}" => word.bare(own),
            "concatenation" => {
                let mut cursor = node.walk();
                let pieces: Vec<Node<'_>> = node.children(&mut cursor).collect();
                let is_piece = |it: &Node<'_>| {
                    matches!(
                        it.kind(),
                        "word"
                            | "number"
                            | "raw_string"
                            | "string"
                            | "simple_expansion"
                            | "expansion"
                    )
                };
                match pieces.iter().find(|it| !is_piece(it)) {
                    Some(other) => Err(what(other.kind())),
                    None => pieces.into_iter().try_for_each(|it| self.add(it, word)),
                }
            }
            other => Err(what(other)),
        }
    }
}

/// What a piece of syntax is called.
fn what(kind: &str) -> &'static str {
    match kind {
        "command_substitution"
        | "simple_expansion"
        | "expansion"
        | "arithmetic_expansion"
        | "ansi_c_string"
        | "translated_string"
        | "$" => "an expansion",
        "process_substitution" => "a process substitution",
        "variable_assignment"
        | "variable_assignments"
        | "declaration_command"
        | "unset_command" => "an assignment",
        "&" | ";&" | ";;&" => "a background job",
        "heredoc_redirect" | "herestring_redirect" => "a here-document",
        "function_definition" => "a function",
        "brace_expression" => "braces",
        "subshell" | "compound_statement" => "a group of commands",
        "if_statement"
        | "for_statement"
        | "while_statement"
        | "case_statement"
        | "c_style_for_statement" => "a loop or a condition",
        _ => "something that is no plain command",
    }
}
