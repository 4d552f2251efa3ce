//! A request as the transport sends it, with what is needed to understand its answer.

use crate::endpoint::HeaderValue;
use crate::wire_tools::WireTools;

/// A POST request, ready to be sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttpRequest {
    /// The complete URL.
    pub url: String,
    /// Names in lower case.
    pub headers: Vec<(String, HeaderValue)>,
    /// JSON in UTF-8.
    pub body: Vec<u8>,
    /// The tools that have other names in the body, for the [`Decoder`](crate::Decoder).
    pub tools: WireTools,
    /// The names of the images and PDFs in the body, and their bytes in Base64.
    pub files: Vec<(String, usize)>,
}

impl HttpRequest {
    /// Creates a request without tools and files.
    pub(crate) fn new(url: String, headers: Vec<(String, HeaderValue)>, body: Vec<u8>) -> Self {
        Self {
            url,
            headers,
            body,
            ..Self::default()
        }
    }
}
