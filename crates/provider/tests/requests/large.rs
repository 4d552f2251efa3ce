//! Files and requests that are larger than a server accepts.

use super::*;

fn image_of(name: &str, base64: String) -> Part {
    let mime = "image/png".to_owned();
    file(name, Content::Image { mime, base64 })
}

/// The Base64 of something with this many bytes.
fn base64(bytes: usize) -> String {
    "A".repeat(bytes.div_ceil(3) * 4)
}

const MB: usize = 1024 * 1024;

/// An endpoint of this provider at another address, such as a gateway.
fn elsewhere(protocol: Protocol) -> Endpoint {
    Endpoint {
        base_url: "http://127.0.0.1:9".to_owned(),
        ..endpoint(protocol)
    }
}

fn encoded(endpoint: &Endpoint, parts: Vec<Part>) -> Result<HttpRequest, String> {
    encode(&prompt(vec![user(parts)]), endpoint, &parameters()).map_err(|it| it.to_string())
}

#[test]
fn an_image_above_the_limit_is_named_with_its_size_and_the_limit() {
    let shot = || vec![image_of("@./shot.png", base64(6_000_000))];
    let anthropic = Protocol::AnthropicMessages;

    assert_eq!(
        encoded(&elsewhere(anthropic), shot()),
        Err("@./shot.png has 5.72 MB. Anthropic accepts at most 3.75 MB per image (5 MB in Base64), so nothing was sent. Make it smaller, or remove it from the chat, and press Ctrl-] again.".to_owned())
    );
    // Anthropic itself accepts larger images than the platforms of others.
    assert!(encoded(&endpoint(anthropic), shot()).is_ok());
    let larger = vec![image_of("@./large.png", base64(9 * MB))];
    let error = encoded(&endpoint(anthropic), larger).unwrap_err();
    assert!(
        error.starts_with("@./large.png has 9 MB. Anthropic accepts at most 7.5 MB per image"),
        "{error}"
    );
    assert!(encoded(&elsewhere(Protocol::ChatCompletions), shot()).is_ok());
}

#[test]
fn an_image_in_an_earlier_turn_counts_too() {
    let said = prompt(vec![
        user(vec![image_of("@./old.png", base64(6_000_000))]),
        assistant(vec![text("I see.")]),
        user(vec![text("And now?")]),
    ]);
    let endpoint = elsewhere(Protocol::AnthropicMessages);
    let problem = encode(&said, &endpoint, &parameters()).unwrap_err();
    assert!(
        problem.what.starts_with("@./old.png has 5.72 MB."),
        "{problem}"
    );
}

#[test]
fn a_request_above_the_limit_is_reported_with_its_files() {
    let images = (1..8).map(|n| image_of(&format!("@./{n}.png"), base64(n * MB)));
    let error = encoded(&endpoint(Protocol::AnthropicMessages), images.collect()).unwrap_err();
    let expected = "The request has 37.33 MB, with @./7.png (7 MB), @./6.png (6 MB), @./5.png (5 MB), @./4.png (4 MB), @./3.png (3 MB) and 2 more files. Anthropic accepts at most 32 MB, so nothing was sent.";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn a_pdf_above_the_limit_is_named() {
    let pdf = |bytes| {
        let base64 = base64(bytes);
        vec![file("@./book.pdf", Content::Pdf { base64 })]
    };
    for (protocol, who) in [
        (Protocol::Responses, "OpenAI"),
        (Protocol::Gemini, "The Gemini API"),
    ] {
        let error = encoded(&endpoint(protocol), pdf(51 * MB)).unwrap_err();
        let expected = format!("@./book.pdf has 51 MB. {who} accepts at most 50 MB per PDF");
        assert!(error.starts_with(&expected), "{error}");
        assert!(encoded(&endpoint(protocol), pdf(MB)).is_ok());
    }
}

#[test]
fn an_image_with_too_many_pixels_is_named() {
    // The beginning of a PNG of 8001 x 16 pixels.
    let wide = "iVBORw0KGgoAAAANSUhEUgAAH0EAAAAQCAIAAAAA".to_owned();
    let small = "iVBORw0KGgoAAAANSUhEUgAACAAAAAAQCAIAAAAA".to_owned();
    let endpoint = endpoint(Protocol::AnthropicMessages);

    let error = encoded(&endpoint, vec![image_of("@./wide.png", wide)]).unwrap_err();
    let expected =
        "@./wide.png has 8001 x 16 pixels. Anthropic accepts at most 8000 x 8000 pixels, so";
    assert!(error.starts_with(expected), "{error}");

    let many = |count: usize| (0..count).map(|n| image_of(&format!("@./{n}.png"), small.clone()));
    assert!(encoded(&endpoint, many(20).collect()).is_ok());
    let error = encoded(&endpoint, many(21).collect()).unwrap_err();
    let expected = "@./0.png has 2048 x 16 pixels. Anthropic accepts at most 2000 x 2000 pixels with so many images";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn an_error_about_an_image_names_the_file() {
    let parts = vec![
        text("What is this?"),
        image_of("@./a.png", base64(100_000)),
        image_of("@./b.png", base64(200_000)),
    ];
    let refused = [
        (
            Protocol::AnthropicMessages,
            "messages.0.content.2.image.source.base64",
        ),
        (
            Protocol::ChatCompletions,
            "messages[0].content[2].image_url",
        ),
        (Protocol::Responses, "input[0].content[2].image_url"),
        (Protocol::Gemini, "contents[0].parts[2].inline_data"),
    ];
    for (protocol, place) in refused {
        let request = request(protocol, &prompt(vec![user(parts.clone())]), &parameters());
        let problem = chat::Problem::new(
            format!("It refused the request (400, {place}: over 5 MB)."),
            "",
        );
        let problem = request.explain(400, problem);
        let named = format!("{place} is @./b.png (0.19 MB).");
        assert!(problem.what.contains(&named), "{problem}");
    }
}

#[test]
fn an_error_about_the_size_names_the_size_and_the_files() {
    let names = ["@./a.png", "@./b.png"];
    let parts = names.map(|name| image_of(name, base64(3 * MB)));
    let request = request(
        Protocol::AnthropicMessages,
        &prompt(vec![user(parts.to_vec())]),
        &parameters(),
    );
    let problem = request.explain(413, chat::Problem::new("It is too large.", "Do."));
    assert_eq!(
        problem.what,
        "It is too large. The request had 8 MB, with @./a.png (3 MB), @./b.png (3 MB)."
    );
}

#[test]
fn an_image_in_a_result_counts_too() {
    let said = prompt(vec![
        user(vec![text("Look.")]),
        assistant(vec![call("a", "bash", "{}")]),
        user(vec![result_with(
            "a",
            "[shot.png]",
            vec![image_of("shot.png", base64(6_000_000))],
        )]),
    ]);
    let endpoint = elsewhere(Protocol::AnthropicMessages);
    let problem = encode(&said, &endpoint, &parameters()).unwrap_err();
    assert!(
        problem.what.starts_with("shot.png has 5.72 MB."),
        "{problem}"
    );
}
