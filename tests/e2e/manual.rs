//! `setup()` accepts each option example of the manual. Examples of whole tools are
//! tested with tools of their kind.

use harness::repository;
use serde_json::json;

use crate::stage::offline;

/// The examples of options: the text between the braces of `setup({…})`.
fn examples() -> Vec<String> {
    let manual = std::fs::read_to_string(repository().join("doc/flemma.txt")).unwrap();
    let (mut examples, mut tag) = (Vec::new(), "");
    let mut lines = manual.lines();
    while let Some(line) = lines.next() {
        let mut tags = line.split_whitespace().filter_map(|word| {
            let word = word.strip_prefix("*flemma-")?;
            word.strip_suffix('*')
        });
        tag = tags.next_back().unwrap_or(tag);
        if !line.ends_with(" >lua") {
            continue;
        }
        let is_code = |line: &&str| line.is_empty() || line.starts_with(' ');
        let code: Vec<&str> = lines.by_ref().take_while(is_code).collect();
        let code = code.join("\n");
        let whole = code
            .trim()
            .strip_prefix("require(\"flemma\").setup({")
            .and_then(|it| it.strip_suffix("})"));
        match whole {
            Some(inner) => examples.push(inner.to_owned()),
            None => examples.extend(inside(code.trim(), tag)),
        }
    }
    examples
}

/// The example of a single option, wrapped in the tables that its tag names. `None` if the example is
/// a program.
fn inside(code: &str, tag: &str) -> Option<String> {
    let (name, _) = code.split_once(" = ")?;
    let (outer, last) = tag.rsplit_once('.').unwrap_or(("", tag));
    if name.contains('.') || name == "execute" || name.contains(' ') {
        return None;
    }
    let outer: Vec<&str> = if name == last {
        outer.split('.').filter(|it| !it.is_empty()).collect()
    } else {
        Vec::new()
    };
    let open: String = outer.iter().map(|it| format!("[\"{it}\"] = {{ ")).collect();
    Some(format!("{open}{code}{}", " }".repeat(outer.len())))
}

#[test]
fn setup_accepts_each_example_of_an_option() {
    let editor = offline().start();
    let examples = examples();
    assert!(examples.len() >= 15, "{examples:#?}");
    let code = "local options, wrong = assert(loadstring('return {' .. ... .. '}'))(), {}
        local given = vim.json.encode(require('flemma.config').plain(options))
        local command = { require('flemma.host').binary(), 'health', '--offline', '--json' }
        local ran = vim.system(command, { text = true, stdin = given }):wait()
        for line in vim.gsplit(ran.stdout, '\\n', { trimempty = true }) do
          local finding = vim.json.decode(line)
          wrong[#wrong + 1] = finding.level == 'error' and finding.text or nil
        end
        return { next(options) ~= nil or ... == '', ran.code, wrong }";
    for example in examples {
        let taken = editor.lua(code, &json!([example]));
        assert_eq!(
            taken,
            json!([true, 0, []]),
            "{example}\n{}",
            editor.messages()
        );
    }
}
