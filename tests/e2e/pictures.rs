//! Images and pages of PDFs that the model reads: a line in the chat, and the file in requests.

use harness::{Answer, Dialect, Provider, Strict};
use serde_json::{Value as Json, json};

use crate::shell::Shell;
use crate::stage::*;

/// A PNG of one black pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\
    \0\0\0\x0aIDATx\xdac`\0\0\0\x02\0\x01\xe5'\xde\xfc\0\0\0\0IEND\xaeB`\x82";
/// How it begins in Base64.
const BASE64: &str = "iVBORw0KGgo";

/// The result of a call in a request to Anthropic.
fn sent_result(body: &Json, id: &str) -> Json {
    let messages = body["messages"].as_array().unwrap().iter();
    let mut blocks = messages.flat_map(|it| it["content"].as_array().into_iter().flatten());
    let mut found = blocks.find(|it| it["tool_use_id"] == id).unwrap().clone();
    // It moves to later messages.
    found.as_object_mut().unwrap().remove("cache_control");
    found
}

#[test]
fn an_image_is_sent_with_the_result_that_shows_it_and_with_no_other() {
    let service = Strict::anthropic_without_dropping();
    let provider = Provider::anthropic([
        Answer::new().tool_use("toolu_1", "read", &file("dot.png")),
        Answer::says("A dot."),
    ]);
    let provider = provider.strict(service);
    let options = json!({"model": "claude-opus-5-5", "tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with("dot.png", PNG);
    let editor = setup.file("question.chat", "").start();
    watch(&editor);
    editor.paste("@You:\nWhat is in dot.png?\n");
    editor.keys("<C-]>");
    wait_end(&editor, "A dot.\n\n@You:\n\n");
    let shown = result(&editor, "toolu_1");
    let line = shown.lines().nth(3).unwrap().to_owned();
    assert!(
        line.starts_with("[image dot.png, 1 x 1 pixels, 67 B, blake3 "),
        "{shown}"
    );
    assert!(!editor.text().contains(BASE64));

    // Another call prints the same line, and the file is gone.
    std::fs::remove_file(editor.dir().join("dot.png")).unwrap();
    let print = command(&format!("echo Look:; echo '{line}'"));
    provider.then(Answer::new().tool_use("toolu_2", "bash", &print));
    provider.then(Answer::says("Only text."));
    editor.keys("GAPrint that.<Esc><C-]>");
    wait_end(&editor, "Only text.\n\n@You:\n\n");
    assert_eq!(provider.refusals(), [""; 0]);
    let requests = provider.requests();
    assert_eq!(requests.len(), 4);
    let first = sent_result(&requests[1].body, "toolu_1");
    assert_eq!(first["content"][0], json!({"type": "text", "text": line}));
    let image = &first["content"][1];
    assert_eq!(image["type"], "image");
    assert_eq!(image["source"]["media_type"], "image/png");
    assert!(
        image["source"]["data"]
            .as_str()
            .unwrap()
            .starts_with(BASE64)
    );
    for request in &requests[2..] {
        assert_eq!(sent_result(&request.body, "toolu_1"), first);
    }
    let second = sent_result(&requests[3].body, "toolu_2");
    assert_eq!(second["content"], json!(format!("Look:\n{line}")));
}

/// The last request of a conversation in which the model reads an image.
#[track_caller]
fn last_request(provider: &Provider, model: &str) -> String {
    let shell = Shell::new(provider);
    let name = provider.name();
    shell.configure(&format!(
        "provider = \"{name}\"\nmodel = \"{model}\"\n[tools]\nrequire_approval = false\n"
    ));
    std::fs::write(shell.path("dot.png"), PNG).unwrap();
    provider.then(Answer::new().tool_use("call_1", "read", &file("dot.png")));
    provider.then(Answer::says("A dot."));
    let ran = shell.run(&["send", "a.chat", "-m", "What is in dot.png?"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(provider.refusals(), [""; 0], "{model}");
    provider.requests().last().unwrap().body.to_string()
}

#[test]
fn each_protocol_gets_the_image_in_its_form_or_text_about_it() {
    let dialect = Strict::chat_completions(Dialect::OpenAi);
    for (provider, service, model, gets_image) in [
        (
            Provider::anthropic([""; 0]),
            Strict::anthropic(),
            "claude-opus-5-5",
            true,
        ),
        (
            Provider::responses([""; 0]),
            Strict::responses(),
            "gpt-6.1-sol",
            true,
        ),
        (
            Provider::gemini([""; 0]),
            Strict::gemini(),
            "gemini-3.8-pro",
            true,
        ),
        (
            Provider::gemini([""; 0]),
            Strict::gemini(),
            "gemini-2.5-flash",
            false,
        ),
        (
            Provider::chat_completions([""; 0]),
            dialect,
            "scripted-1",
            false,
        ),
    ] {
        let body = last_request(&provider.strict(service), model);
        assert_eq!(
            body.matches(BASE64).count(),
            usize::from(gets_image),
            "{model}: {body}"
        );
        assert!(
            body.contains("[image dot.png, 1 x 1 pixels, 67 B"),
            "{model}"
        );
        let says_so = body.contains("dot.png is not shown, because this model sees no such files");
        assert_eq!(says_so, !gets_image, "{model}: {body}");
    }
}

#[test]
fn a_file_that_is_not_an_image_in_spite_of_its_name_is_reported_as_such() {
    let provider = Provider::anthropic([
        Answer::new()
            .tool_use("t_1", "read", &file("page.png"))
            .tool_use("t_2", "read", &file("half.png"))
            .tool_use("t_3", "read", &file("zeros.jpg")),
        Answer::says("I see."),
    ]);
    let setup = with_options(&provider, json!({"tools": {"require_approval": false}}))
        .with("page.png", "<html>Not found</html>\n")
        .with("half.png", &PNG[..40])
        .with("zeros.jpg", &[0; 100][..]);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_end(&editor, "I see.\n\n@You:\n\n");
    let said = result(&editor, "t_1");
    assert!(
        said.contains(
            "<html>Not found</html>\n\n[In spite of its name, the file is not an image but text.]"
        ),
        "{said}"
    );
    let said = result(&editor, "t_2");
    assert!(
        said.contains("half.png cannot be shown as an image: "),
        "{said}"
    );
    let said = result(&editor, "t_3");
    assert!(
        said.contains(
            "zeros.jpg is a binary file of 100 B and, in spite of its name, not an image"
        ),
        "{said}"
    );
}

/// A PDF with so many empty pages.
fn pdf(count: usize) -> String {
    pdf_with(count, Vec::new())
}

/// A document whose 250,000 objects are one large array, which is in it once.
fn bomb() -> String {
    let index = "1 0 ".repeat(250_000);
    let array = format!("[{}]", "0 ".repeat(1_000_000));
    let (first, length) = (index.len(), index.len() + array.len());
    let objects = format!(
        "<</Type/ObjStm/N 250000/First {first}/Length {length}>>\nstream\n{index}{array}\nendstream"
    );
    pdf_with(1, vec![objects])
}

/// A document with this many pages, and with these objects.
fn pdf_with(count: usize, more: Vec<String>) -> String {
    let kids: Vec<String> = (0..count).map(|page| format!("{} 0 R", page + 3)).collect();
    let page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>".to_owned();
    let catalog = "<</Type/Catalog/Pages 2 0 R>>".to_owned();
    let tree = format!("<</Type/Pages/Count {count}/Kids[{}]>>", kids.join(" "));
    let mut text = "%PDF-1.4\n".to_owned();
    let mut table = String::new();
    let (mut size, pages) = (1, vec![page; count]);
    for object in [catalog, tree].into_iter().chain(pages).chain(more) {
        table.push_str(&format!("{:010} 00000 n \n", text.len()));
        text.push_str(&format!("{size} 0 obj\n{object}\nendobj\n"));
        size += 1;
    }
    let start = text.len();
    format!(
        "{text}xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<</Size {size}/Root 1 0 R>>\n\
         startxref\n{start}\n%%EOF\n"
    )
}

#[test]
fn pages_of_a_pdf_are_sent_and_too_many_are_asked_about() {
    let page =
        json!({"label": "", "path": "book.pdf", "offset": null, "limit": null, "pages": "24-25"});
    let provider = Provider::anthropic([
        Answer::new()
            .tool_use("toolu_1", "read", &file("book.pdf"))
            .tool_use("toolu_2", "read", &page)
            .tool_use("toolu_3", "read", &file("huge.png"))
            .tool_use("toolu_4", "read", &file("bomb.pdf")),
        Answer::says("Two empty pages."),
    ]);
    let provider = provider.strict(Strict::anthropic_without_dropping());
    let options = json!({"model": "claude-opus-5-5", "tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with("book.pdf", pdf(25));
    let setup = setup.with("bomb.pdf", bomb());
    let editor = setup.file("question.chat", QUESTION).start();
    // It takes no space on the disk.
    let huge = std::fs::File::create(editor.dir().join("huge.png")).unwrap();
    std::os::unix::fs::FileExt::write_at(&huge, PNG, 0).unwrap();
    huge.set_len(200 * 1024 * 1024).unwrap();
    watch(&editor);
    editor.keys("<C-]>");
    wait_end(&editor, "Two empty pages.\n\n@You:\n\n");
    let said = result(&editor, "toolu_1");
    assert!(
        said.contains("book.pdf has 25 pages, and at most 20 are shown at once."),
        "{said}"
    );
    let said = result(&editor, "toolu_2");
    assert!(
        said.contains("[PDF book.pdf, pages 24-25 of 25, "),
        "{said}"
    );
    let said = result(&editor, "toolu_3");
    assert!(
        said.contains("huge.png is an image of 200.0 MB, over the limit of 20.0 MB."),
        "{said}"
    );
    let said = result(&editor, "toolu_4");
    assert!(
        said.contains("bomb.pdf cannot be read as a PDF: that takes more than 512.0 MB of memory"),
        "{said}"
    );
    assert_eq!(provider.refusals(), [""; 0]);
    let sent = sent_result(&provider.requests()[1].body, "toolu_2");
    let document = &sent["content"][1];
    assert_eq!(document["type"], "document");
    assert_eq!(document["source"]["media_type"], "application/pdf");
    // It begins with "%PDF-".
    let data = document["source"]["data"].as_str().unwrap();
    assert!(data.starts_with("JVBERi0"), "{data}");
}
