//! The answer of an authorization server, which the user's browser brings to an address of this
//! machine.

use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::definition::clean;

/// Maximum size of a request's head in bytes.
const HEAD: u64 = 32 * 1024;
/// Time limit for a request.
const RECEIVE: Duration = Duration::from_secs(30);
/// Maximum bytes of the server's own words.
const SAID: usize = 300;

/// The answer that belongs to one login.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    /// The address to which the browser is sent.
    redirect: String,
    /// The secret of this login, which comes back.
    state: String,
    /// The authorization server, if its metadata says.
    issuer: Option<String>,
}

impl Expected {
    /// Returns the answer to a login at an address.
    ///
    /// # Errors
    ///
    /// The address has no state; a phrase.
    pub(super) fn of(
        address: &str,
        redirect: String,
        issuer: Option<String>,
    ) -> Result<Self, String> {
        let url = Url::parse(address).map_err(|error| error.to_string())?;
        let mut parameters = url.query_pairs();
        let state = parameters.find(|(name, _)| name == "state");
        let (_, state) = state.ok_or("the address of the login has no state")?;
        Ok(Self {
            redirect,
            state: state.into_owned(),
            issuer,
        })
    }

    /// Reads the target of a request: the whole address of an answer, or why there is no login.
    /// `None` if it is not the answer.
    fn read(&self, target: &str) -> Option<Result<String, String>> {
        let answered = Url::parse(&self.redirect).ok()?.join(target).ok()?;
        let mut whole = answered.clone();
        whole.set_query(None);
        if whole.as_str() != self.redirect {
            return None;
        }
        let named = |wanted: &str| -> Option<String> {
            let mut parameters = answered.query_pairs();
            let found = parameters.find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.into_owned())
        };
        // Any page can send the browser here, but only the authorization server knows the state.
        if named("state")? != self.state {
            return None;
        }
        let Some(error) = named("error") else {
            return Some(Ok(answered.into()));
        };
        // RFC 9207, section 2.4: the issuer counts for errors too.
        if let (Some(issuer), Some(said)) = (&self.issuer, named("iss"))
            && *issuer != said
        {
            let said = clean(&said, SAID);
            return Some(Err(format!("the issuer should be {issuer}, but is {said}")));
        }
        let about = named("error_description").unwrap_or_default();
        let about = clean(&format!("{error} {about}").replace('\n', " "), SAID);
        let about = about.trim_end();
        Some(Err(format!("the authorization server refused: {about}")))
    }
}

/// Waits for the answer, and returns its whole address.
///
/// # Errors
///
/// The authorization server refused, or no connection can be taken; a phrase.
pub(super) async fn wait_for_answer(
    listener: TcpListener,
    expected: Expected,
) -> Result<String, String> {
    let (send, mut answers) = mpsc::channel(1);
    loop {
        tokio::select! {
            Some(answer) = answers.recv() => return answer,
            accepted = listener.accept() => {
                let (stream, _) = accepted.map_err(|error| error.to_string())?;
                let (expected, send) = (expected.clone(), send.clone());
                // Browsers open connections that they do not use, so one must not wait for another.
                tokio::spawn(async move {
                    if let Ok(Some(answer)) = timeout(RECEIVE, serve(stream, &expected)).await {
                        // The first answer counts, and later ones have no receiver.
                        drop(send.try_send(answer));
                    }
                });
            }
        }
    }
}

/// Serves one request.
async fn serve(stream: TcpStream, expected: &Expected) -> Option<Result<String, String>> {
    let mut stream = BufReader::new(stream);
    let mut head = (&mut stream).take(HEAD);
    let mut first = String::new();
    head.read_line(&mut first).await.ok()?;
    // The rest is read, so that closing the connection is not an error for the browser.
    let mut line = String::new();
    while head.read_line(&mut line).await.ok()? > 2 {
        line.clear();
    }
    let target = first
        .strip_prefix("GET ")
        .and_then(|it| it.split(' ').next());
    let answer = target.and_then(|it| expected.read(it));
    let (status, text) = match &answer {
        Some(_) => (
            "200 OK",
            "Flemma has the answer and says whether the login worked. You can close this page.",
        ),
        None => ("404 Not Found", "This is not the answer to a login."),
    };
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    let stream = stream.get_mut();
    stream.write_all(response.as_bytes()).await.ok()?;
    // The answer counts even if the browser closed the connection first.
    let _ = stream.shutdown().await;
    answer
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_this_login_counts() {
        let redirect = "http://127.0.0.1:4000/callback";
        let issuer = Some("https://as.example".to_owned());
        let address = "https://as.example/authorize?client_id=x&state=s%2B1";
        let expected = Expected::of(address, redirect.to_owned(), issuer).unwrap();
        let answer = "/callback?code=c&state=s%2B1&iss=https%3A%2F%2Fas.example";
        let whole = format!("http://127.0.0.1:4000{answer}");
        assert_eq!(expected.read(answer), Some(Ok(whole)));
        for other in [
            "/callback?code=c&state=wrong",
            "/callback?code=c",
            "/other?code=c&state=s%2B1",
            "http://evil.example/callback?code=c&state=s%2B1",
            "/favicon.ico",
            "//",
        ] {
            assert_eq!(expected.read(other), None, "{other}");
        }
        for (answer, why) in [
            (
                "/callback?error=access_denied&error_description=No%0Athanks&state=s%2B1",
                "the authorization server refused: access_denied No thanks",
            ),
            (
                "/callback?error=access_denied&state=s%2B1&iss=https%3A%2F%2Fother.example",
                "the issuer should be https://as.example, but is https://other.example",
            ),
        ] {
            assert_eq!(expected.read(answer), Some(Err(why.to_owned())));
        }
    }
}
