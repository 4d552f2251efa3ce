//! Files attached to a message.
//!
//! The host reads them; here they are bytes with a name.

/// A file, or a state of the editor, that a message refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Name in the message, such as `@./plan.pdf`.
    pub name: String,
    /// Language of its fence; empty if it is not known.
    pub language: String,
    /// Its content.
    pub content: Content,
}

/// Content of an [`Attachment`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// An image.
    Image {
        /// MIME type, such as `image/png`.
        mime: String,
        /// Its bytes in Base64.
        base64: String,
    },
    /// A PDF document.
    Pdf {
        /// Its bytes in Base64.
        base64: String,
    },
    /// Text.
    Text(String),
}

impl Attachment {
    /// Returns the attachment for servers that accept only text: a text file's name and
    /// content in a fence, otherwise only its name.
    pub fn as_text(&self) -> String {
        let Content::Text(text) = &self.content else {
            return self.name.clone();
        };
        // A fence in the text must not end this one.
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(3.max(longest + 1));
        let end = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        format!(
            "{}:\n{fence}{}\n{text}{end}{fence}",
            self.name, self.language
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fence_of_a_text_file_is_longer_than_any_in_it() {
        for (text, expected) in [
            ("a\n", "@./x:\n```\na\n```"),
            ("a", "@./x:\n```\na\n```"),
            ("", "@./x:\n```\n```"),
            ("```\na\n````\n", "@./x:\n`````\n```\na\n````\n`````"),
        ] {
            let attachment = Attachment {
                name: "@./x".to_owned(),
                language: String::new(),
                content: Content::Text(text.to_owned()),
            };
            assert_eq!(attachment.as_text(), expected);
        }
    }
}
