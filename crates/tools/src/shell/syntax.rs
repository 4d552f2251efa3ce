//! Parses a command line into its commands, with a parser of bash and with [`split`], which only
//! knows quotes and operators. Both must find the same words.
//!
//! Pure. It has no knowledge of programs.
//!
//! [`split`]: super::split

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::words::{Builder, KnownVariables, NOT_PLAIN, UNCERTAIN, Word, has_braces, variable};

/// A plain command, without nested syntax.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Files that it reads with `<`.
    pub inputs: Vec<Word>,
    /// True if its input is the output of the command before it.
    pub is_piped: bool,
}

/// A part of a line that is still to be read.
enum Unread<'t> {
    Node(Node<'t>),
    /// A redirection of the last command before it.
    Redirect(Node<'t>),
}

/// Progress reports after which the parser is stopped, because hostile text must not block.
const MAX_REPORTS: usize = 20_000;
/// Longest command that [`names`] parses (256 KB).
const MAX_LENGTH: usize = 256 * 1024;

/// The commands of a line that consists only of plain commands.
///
/// # Errors
///
/// The syntax in it that is not analyzed, as a noun with its article.
pub(super) fn read(text: &str, variables: &KnownVariables) -> Result<Vec<Simple>, &'static str> {
    let is_odd = |it: char| (it.is_control() && it != '\n' && it != '\t') || is_hidden(it);
    // They could make a command look different from what runs.
    if text.contains(is_odd) {
        return Err("invisible characters");
    }
    let tree = parse(text)?;
    // The parser recovers from errors by guessing, and a guess may differ from the shell.
    if tree.root_node().has_error() {
        return Err(UNCERTAIN);
    }
    let reader = Reader { text, variables };
    let mut commands = Vec::new();
    // A stack, so children are pushed in reverse to keep the order of the text.
    let mut open = vec![Unread::Node(tree.root_node())];
    let mut is_piped = false;
    while let Some(next) = open.pop() {
        let node = match next {
            Unread::Node(node) => node,
            Unread::Redirect(node) => {
                let command: &mut Simple = commands.last_mut().ok_or(UNCERTAIN)?;
                command.inputs.extend(reader.redirect(node)?);
                continue;
            }
        };
        let mut cursor = node.walk();
        match node.kind() {
            "program" | "list" | "pipeline" => {
                let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
                open.extend(children.into_iter().rev().map(Unread::Node));
            }
            // The parser puts a redirection around a whole list, and the shell applies it to the last
            // command of it.
            "redirected_statement" if is_list(node) => {
                let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
                for child in children.into_iter().rev() {
                    open.push(match child.kind() {
                        "file_redirect" => Unread::Redirect(child),
                        _ => Unread::Node(child),
                    });
                }
            }
            "command" | "redirected_statement" | "test_command" => {
                let mut command = reader.command(node)?;
                command.is_piped = std::mem::take(&mut is_piped);
                commands.push(command);
            }
            "|" => is_piped = true,
            // A comment runs nothing.
            ";" | "&&" | "||" | "\n" | "comment" => {}
            other => return Err(what(other)),
        }
    }
    if are_same_words(&commands, &super::split::split(text, variables)?) {
        Ok(commands)
    } else {
        Err("something that two parsers read differently")
    }
}

/// Returns true if a redirection is around several commands.
fn is_list(node: Node<'_>) -> bool {
    let body = node.child_by_field_name("body");
    body.is_some_and(|it| matches!(it.kind(), "list" | "pipeline"))
}

fn are_same_words(commands: &[Simple], plain: &[Vec<String>]) -> bool {
    let words = |it: &Simple| it.words.iter().map(|it| it.value.clone()).collect();
    let found: Vec<Vec<String>> = commands.iter().map(words).collect();
    found == plain
}

/// Characters that are invisible, or look like a blank but are none.
fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{a0}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{206f}' | '\u{3000}' | '\u{feff}'
    )
}

/// Every command anywhere in the text, as its words without quotes.
///
/// Includes commands in expansions and commands that are arguments of programs such as `sudo`.
///
/// # Errors
///
/// The syntax that prevents parsing, as a noun with its article.
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
            // Both may precede the program's name.
            let words =
                words.filter(|it| !matches!(it.kind(), "variable_assignment" | "file_redirect"));
            let words: Vec<String> = words.map(|it| unquoted(&text[it.byte_range()])).collect();
            // After a wrapper such as `sudo`, every later word may be the program.
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
    let mut parser = Parser::new();
    let language = tree_sitter_bash::LANGUAGE.into();
    parser.set_language(&language).map_err(|_| UNCERTAIN)?;
    let mut reports = 0;
    let mut report = |_: &_| {
        reports += 1;
        if reports > MAX_REPORTS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let mut rest = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut report);
    parser
        .parse_with_options(&mut rest, None, Some(options))
        .ok_or(UNCERTAIN)
}

/// Extracts commands from the parser's tree.
struct Reader<'a> {
    text: &'a str,
    variables: &'a KnownVariables,
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

    /// The words of `[ … ]`, which the parser reads as an expression.
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

    /// The file that a redirection reads, if any. Output may only go to `/dev/null` or to another
    /// file descriptor.
    fn redirect(&self, node: Node<'_>) -> Result<Option<Word>, &'static str> {
        const WRITES: &str = "a redirection into a file";
        let mut cursor = node.walk();
        let parts: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let parts: Vec<&Node<'_>> = parts
            .iter()
            .filter(|it| it.kind() != "file_descriptor")
            .collect();
        // Without a target, or with several, the parser and the shell may disagree.
        let [operator, target] = parts.as_slice() else {
            return Err(WRITES);
        };
        let target = self.word(**target)?;
        // Which file a pattern matches is only known when the command runs.
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

    /// Adds a node to a word.
    fn add(&self, node: Node<'_>, word: &mut Builder<'_>) -> Result<(), &'static str> {
        if node.kind() != "concatenation" {
            return self.add_piece(node, word);
        }
        // `find -exec` and `xargs` replace this word; the shell does not expand it.
        if self.own(node) == "{}" {
            return word.bare("{}");
        }
        let mut cursor = node.walk();
        let mut pieces = node.children(&mut cursor);
        pieces.try_for_each(|it| self.add_piece(it, word))
    }

    /// Adds a node that is not a concatenation.
    fn add_piece(&self, node: Node<'_>, word: &mut Builder<'_>) -> Result<(), &'static str> {
        let own = self.own(node);
        let inner = || own.get(1..own.len() - 1).unwrap_or_default();
        match node.kind() {
            "word" | "number" if has_braces(own) => Err("braces"),
            "word" | "number" => word.bare(own),
            "raw_string" => {
                word.quoted(inner());
                Ok(())
            }
            "string" => {
                let mut cursor = node.walk();
                let is_known =
                    |kind| matches!(kind, "string_content" | "simple_expansion" | "expansion");
                let mut children = node.named_children(&mut cursor);
                if children.all(|it| is_known(it.kind())) {
                    word.double_quoted(inner())
                } else {
                    Err("an expansion")
                }
            }
            "simple_expansion" | "expansion" => {
                let found = own.strip_prefix('$').and_then(variable);
                // Text after the name means an operator, as in `${name:-default}`.
                match found.filter(|(_, rest)| rest.is_empty()) {
                    Some((name, _)) => word.variable(name, false),
                    None => Err("an expansion"),
                }
            }
            other => Err(what(other)),
        }
    }
}

/// The name of a kind of syntax, with its article.
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
        _ => NOT_PLAIN,
    }
}
