//! `:Flemma new` and `:Flemma rules`: chats from templates, with the project's rules.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;

fn closed_fold_at(editor: &Editor, line: u64) -> bool {
    editor.lua("return vim.fn.foldclosed(...) ~= -1", &json!([line])) == json!(true)
}

#[test]
fn a_new_chat_has_a_folded_system_prompt_and_its_first_message_includes_the_rules() {
    let provider = Provider::anthropic([Answer::says("Hello.")]);
    let setup = setup(&provider).with("AGENTS.md", "Use tabs.\n");
    let editor = setup.with("CLAUDE.md", "x\n").file("a.txt", "").start();
    editor.keys(":Flemma new<CR>");
    editor.wait_for("a folded prompt", |editor| closed_fold_at(editor, 1));
    wait_message(&editor, "The first message includes @./AGENTS.md.");
    let text = editor.text();
    assert!(text.starts_with("@System:\n"), "{text}");
    assert!(text.ends_with("\n@You:\n@./AGENTS.md\n\n"), "{text}");
    assert!(!text.contains("${") && !text.contains("CLAUDE"), "{text}");
    editor.keys("iHi<C-]>");
    editor.wait_text("@Assistant:\nHello.");
    let body = &provider.requests()[0].body;
    let system = body["system"].to_string();
    assert!(system.contains("in small pieces"), "{system}");
    // Text that others can edit is no instruction of the user's own.
    assert!(!system.contains("Use tabs."), "{system}");
    let message = body["messages"][0].to_string();
    assert!(message.contains("Use tabs."), "{message}");

    // The name is new, and the file is not written before the user does.
    let name = |editor: &Editor| editor.lua("return vim.fn.expand('%:t')", &json!([]));
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
    let folder = editor.lua("return vim.fn.expand('%:p:h:t')", &json!([]));
    assert_eq!(folder, json!("chats"));
}

#[test]
fn rules_are_added_to_a_chat_that_has_none_and_are_sent() {
    let provider = Provider::anthropic([Answer::says("Hello.")]);
    let setup = setup(&provider).with(".github/copilot-instructions.md", "Use tabs.\n");
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys(":Flemma rules<CR>");
    editor.wait_text("@You:\n@./.github/copilot-instructions.md\n\nGo.\n");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nHello.");
    let message = provider.requests()[0].body["messages"][0].to_string();
    assert!(message.contains("Use tabs."), "{message}");
}

#[test]
fn a_new_chat_without_the_projects_rules_says_so_once() {
    let said = "This chat does not include @./AGENTS.md. :Flemma rules adds it";
    let setup = offline().with("AGENTS.md", "Use tabs.\n");
    // As with `nvim hello.chat`.
    let editor = setup
        .file("hello.chat", "")
        .command("call delete('hello.chat') | edit!")
        .start();
    wait_message(&editor, said);
    let shown = "makes chats with it";
    editor.wait_screen(shown, |rows| rows.join(" ").contains(shown));

    // The same chat says it once, and one that has rules or text of its own never does.
    editor.command("edit! | enew | bwipeout hello.chat | edit hello.chat");
    editor.command("autocmd BufNewFile own.chat call setline(1, ['@You:', 'Hi.'])");
    editor.command("edit own.chat");
    editor.keys(":Flemma new<CR>");
    wait_message(&editor, "The first message includes @./AGENTS.md.");
    editor.command("edit other.chat");
    editor.wait_for("the same about another chat", |editor| {
        editor.messages().matches(said).count() == 2
    });
    editor.keys(":Flemma rules<CR>");
    wait_message(&editor, "Added to @You: @./AGENTS.md");
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

/// A project with a Git repository, in which `:Flemma new` makes a chat.
fn in_git(options: Json) -> Editor {
    let provider = Provider::anthropic([Answer::says("Hello.")]);
    let setup = with_options(&provider, options).with("src/f.c", "int f;\n");
    let editor = setup.file("a.txt", "").start();
    watch(&editor);
    let init = std::process::Command::new("git")
        .args(["init", "-q"])
        .current_dir(editor.dir())
        .status();
    assert!(init.unwrap().success());
    editor
}

#[test]
fn a_new_chat_is_in_the_state_folder_and_belongs_to_its_project() {
    let provider = Provider::anthropic([Answer::says("Hello."), Answer::says("Again.")]);
    let setup = setup(&provider)
        .with("src/f.c", "int f;\n")
        .with("src/g.c", "int g;\n");
    let editor = setup.file("a.txt", "").start();
    watch(&editor);
    editor.keys(":Flemma new<CR>");
    editor.wait_text("@You:");
    let path = editor.lua("return vim.fn.expand('%:p')", &json!([]));
    let path = path.as_str().unwrap().to_owned();
    assert!(path.contains("/flemma/by-project/"), "{path}");
    // References and calls start from the project.
    editor.keys("i@./src/f.c<Esc><C-]>");
    editor.wait_text("@Assistant:\nHello.");
    assert!(provider.requests()[0].body.to_string().contains("int f;"));
    // It is found again, and still belongs to the project.
    editor.wait_for("the file", |_| std::path::Path::new(&path).exists());
    let listed = editor.lua("return require('flemma.chats').found(false)", &json!([]));
    assert_eq!(listed[0]["path"], json!(path), "{listed}");
    editor.command("bwipeout!");
    editor.command(&format!("edit {path}"));
    editor.wait_text("Hello.");
    editor.keys("Go@./src/g.c<Esc><C-]>");
    editor.wait_text("Again.");
    assert!(provider.requests()[1].body.to_string().contains("int g;"));
    assert!(!editor.dir().join(".git").exists());
}

#[test]
fn chats_in_a_project_are_kept_out_of_git_only_if_the_user_wants_that() {
    for (choice, expected) in [(1, false), (2, true), (0, false)] {
        let editor = in_git(json!({"chats": {"folder": "."}}));
        let answer = format!(
            "vim.ui.select = function(items, options, done)
               _G.asked = options.prompt
               done(items[{choice}], items[{choice}] and {choice} or nil)
             end"
        );
        editor.lua(&answer, &json!([]));
        editor.keys(":Flemma new<CR>");
        editor.wait_for("the question", |it| {
            it.lua("return _G.asked", &json!([]))
                == json!("Git does not ignore the chats of this folder:")
        });
        let file = editor.dir().join(".git/info/exclude");
        let has = || {
            std::fs::read_to_string(&file)
                .unwrap_or_default()
                .lines()
                .any(|it| it == "*.chat")
        };
        editor.wait_for("the choice to be kept", |_| has() == expected);
    }
}

#[test]
fn with_autochdir_a_chat_keeps_the_folder_in_which_neovim_started() {
    let provider = Provider::anthropic([Answer::says("Hello.")]);
    let setup = setup(&provider)
        .with("src/f.c", "int f;\n")
        .with("notes/x", "");
    let editor = setup.file("a.txt", "").start();
    watch(&editor);
    editor.command("set autochdir");
    editor.command("edit notes/a.chat");
    editor.wait_text("@You:");
    editor.keys("i@../src/f.c<Esc>");
    editor.command("split ../src/f.c");
    editor.command("wincmd p");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nHello.");
    assert!(provider.requests()[0].body.to_string().contains("int f;"));
}

#[test]
fn with_autochdir_a_call_is_shown_and_runs_in_the_chats_folder_whatever_window_was_used() {
    let path = "../src/f.c";
    let edit = |old: &str, new: &str| json!({"label": "edit", "path": path, "oldText": old, "newText": new});
    let calls = Answer::new()
        .tool_use("t_1", "edit", &edit("int f;", "long f;"))
        .tool_use(
            "t_2",
            "read",
            &json!({"label": "", "path": path, "offset": null, "limit": null}),
        )
        .tool_use("t_3", "bash", &command("echo \"$PWD\"; cat ../src/f.c"));
    let provider = Provider::anthropic([calls, Answer::says("Done.")]);
    let tools = json!({"tools": {"auto_approve": []}, "sandbox": {"enabled": false}});
    let setup = with_options(&provider, tools)
        .with("src/f.c", "int f;\n")
        .with("notes/x", "");
    let editor = setup.file("a.txt", "").start();
    watch(&editor);
    editor.command("set autochdir");
    editor.command("edit notes/a.chat");
    editor.keys("iGo<Esc><C-]>");
    let shows_the_change = |rows: &[String]| rows.iter().any(|row| row.contains("+1 −1"));
    editor.wait_screen("the change", |rows| shows_the_change(rows));
    editor.command("split ../src/f.c");
    editor.command("edit! | wincmd p");
    at_rest(&editor);
    editor.wait_screen("the change as before", |rows| shows_the_change(rows));
    editor.keys("<M-a>");
    editor.wait_text("@Assistant:\nDone.");
    let changed = std::fs::read_to_string(editor.dir().join("src/f.c")).unwrap();
    assert_eq!(changed, "long f;\n");
    for id in ["t_1", "t_2", "t_3"] {
        assert!(
            !result(&editor, id).contains("(error)"),
            "{}",
            editor.text()
        );
    }
    let notes = editor.dir().join("notes").canonicalize().unwrap();
    assert!(result(&editor, "t_3").contains(notes.to_str().unwrap()));
    assert!(result(&editor, "t_3").contains("f;"));
}
