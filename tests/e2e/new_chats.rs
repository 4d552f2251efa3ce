//! `:Flemma new` and `:Flemma rules`: chats from templates, with the project's rules.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

fn closed_fold_at(editor: &Editor, line: u64) -> bool {
    editor.lua("return vim.fn.foldclosed(...) ~= -1", json!([line])) == json!(true)
}

#[test]
fn a_new_chat_has_a_folded_system_prompt_that_includes_the_rules() {
    let provider = Provider::anthropic([Answer::says("Hello.")]);
    let setup = setup(&provider).with("AGENTS.md", "Use tabs.\n");
    let editor = setup.with("CLAUDE.md", "x\n").file("a.txt", "").start();
    editor.keys(":Flemma new<CR>");
    editor.wait_for("a folded prompt", |editor| closed_fold_at(editor, 1));
    wait_message(&editor, "The system prompt includes @./AGENTS.md.");
    let text = editor.text();
    assert!(text.starts_with("@System:\n"), "{text}");
    assert!(text.ends_with("\n@./AGENTS.md\n\n@You:\n\n"), "{text}");
    assert!(!text.contains("${") && !text.contains("CLAUDE"), "{text}");
    editor.keys("iHi<C-]>");
    editor.wait_text("@Assistant:\nHello.");
    let system = provider.requests()[0].body["system"].to_string();
    assert!(
        system.contains("Use tabs.") && system.contains("in small pieces"),
        "{system}"
    );

    // The name is new, and the file is not written before the user does.
    let name = |editor: &Editor| editor.lua("return vim.fn.expand('%:t')", json!([]));
    let first = name(&editor);
    editor.keys("<Esc>:Flemma new<CR>");
    editor.wait_for("another chat", |editor| name(editor) != first);
    assert_eq!(editor.text(), text);
}

#[test]
fn a_template_of_the_users_own_counts_as_typed_and_may_set_options() {
    let provider = Provider::anthropic([Answer::says("Hello.")]);
    let options = json!({"chats": {"templates": "templates", "folder": "sub/chats"}});
    let template =
        "```lua\nflemma.opt.parameters = { max_tokens = 7 }\n```\n\n@You:\nReview ${folder}.\n";
    let setup = with_options(&provider, options).with("templates/review.chat", template);
    let editor = setup.file("a.txt", "").start();
    editor.keys(":Flemma new revi<Tab><CR>");
    editor.wait_text("@You:\nReview ");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nHello.");
    assert_eq!(provider.requests()[0].body["max_tokens"], 7);
    let folder = editor.lua("return vim.fn.expand('%:p:h:t')", json!([]));
    assert_eq!(folder, json!("chats"));
}

#[test]
fn rules_are_added_to_a_chat_that_has_none_and_are_sent() {
    let provider = Provider::anthropic([Answer::says("Hello.")]);
    let setup = setup(&provider).with(".github/copilot-instructions.md", "Use tabs.\n");
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys(":Flemma rules<CR>");
    editor.wait_text("@System:\n@./.github/copilot-instructions.md\n\n@You:\nGo.\n");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nHello.");
    let system = provider.requests()[0].body["system"].to_string();
    assert!(system.contains("Use tabs."), "{system}");
}

const SKILL: &str = "---\nname: release\ndescription: How we release.\n---\n# Steps\n";

#[test]
fn a_projects_skills_and_templates_are_used_once_the_user_trusts_them() {
    let setup = offline()
        .with(".flemma/skills/release/SKILL.md", SKILL)
        .with(".flemma/skills/bad/SKILL.md", "# Steps\n")
        .with(
            ".flemma/templates/fix.chat",
            "@You:\nFix this${cursor}: ${nothing}\n",
        );
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys(":Flemma new<CR>");
    wait_message(&editor, "has skills that came with this project.");
    editor.wait_text("@System:\n");
    assert!(!editor.text().contains("release:"), "{}", editor.text());
    editor.keys(":Flemma new fix<CR>");
    wait_message(&editor, "There is no template \"fix\".");
    wait_message(&editor, "has templates that came with this project.");

    editor.command("edit question.chat");
    editor.keys(":Flemma trust project<CR>");
    let title = "skills for the model: release.";
    editor.wait_screen(title, |rows| rows.join("").contains(title));
    editor.keys("1<CR>");
    wait_message(&editor, "Trusted as it is now: ");
    editor.keys(":Flemma new<CR>");
    editor.wait_text("\n- release: How we release. (");
    wait_message(&editor, "bad/SKILL.md, line 1: it must begin with YAML");

    editor.keys(":Flemma new fi<Tab><CR>");
    editor.wait_text("@You:\nFix this: ${nothing}\n");
    wait_message(&editor, "it names no variable: ${nothing}.");
    editor.keys("i!<Esc>");
    editor.wait_text("Fix this!: ");
}

#[test]
fn a_template_contains_the_selection_as_a_block() {
    let template = "@You:\nExplain ${selection}\n";
    let options = json!({"chats": {"templates": "templates"}});
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let setup = with_options(&provider, options).with("templates/explain.chat", template);
    let editor = setup.file("a.txt", "one\n@You:\nthree\n").start();
    editor.keys("jVj:Flemma new explain<CR>");
    editor.wait_text("@You:\nExplain a.txt, lines 2-3:\n\n```text\n\\@You:\nthree\n```\n");
}

#[test]
fn skills_are_added_to_a_chat_that_has_none() {
    let path = "../config/flemma/skills/release/SKILL.md";
    let setup = offline().with(path, SKILL);
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys(":Flemma skills<CR>");
    wait_message(&editor, "Added the skills to @System:.");
    assert!(
        editor.text().starts_with("@System:\nBefore a task"),
        "{}",
        editor.text()
    );
    assert!(
        editor.text().contains("\n- release: How we release. ("),
        "{}",
        editor.text()
    );
    editor.keys(":Flemma skills<CR>");
    wait_message(&editor, "This chat lists the skills already.");
}
