//! Parses a command line into its commands, with a parser of bash and with [`split`], which only
//! knows quotes and operators. Both must find the same words.
//!
//! Pure. It has no knowledge of programs.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::words::{
    EXPANSION, KnownVariables, NOT_PLAIN, Place, Role, Simple, WRITES, is_variable, split,
};

/// Syntax that the parsers report as an error.
const UNCERTAIN: &str = "something that cannot be parsed with certainty";
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
    let places = places(&tree, text)?;
    let (commands, read) = split(text, variables)?;
    if places == read {
        Ok(commands)
    } else {
        Err("something that two parsers read differently")
    }
}

/// Where the parser of bash sees words.
///
/// # Errors
///
/// The line contains something else than plain commands.
fn places(tree: &Tree, text: &str) -> Result<Vec<Place>, &'static str> {
    let mut places: Vec<Place> = Vec::new();
    let mut role = Role::Program;
    // Where the last word, redirection, and `[ … ]` end.
    let (mut word, mut redirect, mut test) = (0, 0, 0);
    visit(tree, |node| {
        match node.kind() {
            "program"
            | "list"
            | "pipeline"
            | "redirected_statement"
            | "command_name"
            | "unary_expression"
            | "binary_expression" => return Ok(true),
            "command" | "test_command" => {
                role = Role::Program;
                if node.kind() == "test_command" {
                    test = node.end_byte();
                }
                return Ok(true);
            }
            "file_redirect" => {
                redirect = node.end_byte();
                return Ok(true);
            }
            // A comment runs nothing.
            ";" | "&&" | "||" | "|" | "\n" | "comment" | "file_descriptor" | "<" | ">" | ">>"
            | ">&" | "&>" | "&>>" | "string_content" => return Ok(false),
            "simple_expansion" | "expansion" if !is_variable(&text[node.byte_range()]) => {
                return Err(EXPANSION);
            }
            "word" | "number" | "raw_string" | "string" | "concatenation" | "simple_expansion"
            | "expansion" => {}
            // The parser reads `[ … ]` as an expression.
            "[" | "]" | "test_operator" | "=" | "!=" | "==" | "!"
                if (word..test).contains(&node.start_byte()) => {}
            // Quotes, and a dollar sign without a name.
            _ if !node.is_named() && node.parent().is_some_and(|it| it.kind() == "string") => {
                return Ok(false);
            }
            // Operators such as `>|`.
            _ if !node.is_named() && node.start_byte() < redirect => return Err(WRITES),
            other => return Err(what(other)),
        }
        let range = node.byte_range();
        // Otherwise it is a piece of the last word.
        if range.start >= word {
            word = range.end;
            let is_target = range.end <= redirect;
            places.push(if is_target {
                (range, Role::Target)
            } else {
                (range, std::mem::replace(&mut role, Role::Argument))
            });
        }
        let has_pieces = matches!(node.kind(), "concatenation" | "string");
        Ok(has_pieces && &text[node.byte_range()] != "{}")
    })?;
    Ok(places)
}

/// Visits the nodes of a tree in the order of the text, and those in them if `enter` says so.
fn visit<'t>(
    tree: &'t Tree,
    mut enter: impl FnMut(Node<'t>) -> Result<bool, &'static str>,
) -> Result<(), &'static str> {
    let mut cursor = tree.walk();
    loop {
        if enter(cursor.node())? && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(());
            }
        }
    }
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
    visit(&tree, |node| {
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
        Ok(true)
    })?;
    Ok(runs)
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

/// The name of a kind of syntax, with its article.
fn what(kind: &str) -> &'static str {
    match kind {
        "command_substitution"
        | "simple_expansion"
        | "expansion"
        | "arithmetic_expansion"
        | "ansi_c_string"
        | "translated_string"
        | "$" => EXPANSION,
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
