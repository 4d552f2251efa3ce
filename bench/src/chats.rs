//! Generates the measured chats, of any length and with the content of real ones, without a parser.

/// The last line, which identifies a chat on the screen.
pub const LAST: &str = "END-OF-CHAT question.";

/// One exchange of 24 lines, 12 of which are a call and its result.
fn exchange(number: usize) -> String {
    format!(
        "@You:\n\
         Question {number}: what does file {number} say?\n\
         \n\
         @Assistant:\n\
         I look into **file {number}**, as `path` says, and tell what stands there.\n\
         \n\
         **Tool Use:** `read` (`toolu_{number}`)\n\
         \n\
         ```json\n\
         {{\"label\":\"reading\",\"path\":\"file{number}.txt\",\"offset\":null,\"limit\":null}}\n\
         ```\n\
         \n\
         @You:\n\
         **Tool Result:** `toolu_{number}`\n\
         \n\
         ```\n\
         The first line of file {number}, which is of the usual length of a line.\n\
         The second line of it.\n\
         ```\n\
         \n\
         @Assistant:\n\
         It says *two things*, and the second one is `short`.\n\
         - Both are true.\n\
         \n"
    )
}

/// A chat of about this many lines that ends in an unanswered question.
pub fn chat(lines: usize) -> String {
    let exchanges = 1..=lines / 24;
    let mut text: String = exchanges.map(exchange).collect();
    text.push_str(&format!("@You:\n{LAST}\n"));
    text
}

/// The name of a number of lines: `1k`, `10k` …
pub fn name(lines: usize) -> String {
    format!("{}k", lines / 1000)
}
