//! A server's questions to the user during one call: one at a time, limited in number.
//! Their time does not count towards the call's time limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tools::{Elicitation, Form, FormReply};

/// Maximum total time that the questions of one call wait for the user.
pub const PATIENCE: Duration = Duration::from_secs(600);
/// Maximum number of questions per call.
const MOST: usize = 20;

/// The questions of one call.
pub(super) struct Questions {
    elicitation: Arc<dyn Elicitation>,
    asked: AtomicUsize,
    /// Remaining time; locked while a question is open.
    left: Mutex<Duration>,
    /// Number of open questions.
    open: watch::Sender<usize>,
    /// Cancelled when the call is over.
    over: CancellationToken,
}

impl Questions {
    pub(super) fn new(elicitation: Arc<dyn Elicitation>) -> Self {
        Self {
            elicitation,
            asked: AtomicUsize::new(0),
            left: Mutex::new(PATIENCE),
            open: watch::Sender::new(0),
            over: CancellationToken::new(),
        }
    }

    /// Closes all questions because the call is over.
    pub(super) fn end(&self) {
        self.over.cancel();
    }

    /// Asks the user. A question that is not answered in time counts as dismissed.
    pub(super) async fn ask(&self, form: Form) -> FormReply {
        // A server in a loop must not keep the user busy.
        if self.asked.fetch_add(1, Ordering::Relaxed) >= MOST {
            return FormReply::Declined;
        }
        let _open = OpenQuestion::new(&self.open);
        let mut left = self.left.lock().await;
        let began = Instant::now();
        let reply = tokio::select! {
            reply = timeout(*left, self.elicitation.ask(form)) => reply.unwrap_or(FormReply::Cancelled),
            () = self.over.cancelled() => FormReply::Cancelled,
        };
        *left = left.saturating_sub(began.elapsed());
        reply
    }

    /// Waits for a call's time limit, excluding the time when a question is open.
    pub(super) async fn time_out(&self, limit: Duration) {
        let mut open = self.open.subscribe();
        let mut left = limit;
        loop {
            // Can't fail: the sender is a field of `self`.
            drop(open.wait_for(|count| *count == 0).await);
            let began = Instant::now();
            tokio::select! {
                () = sleep(left) => return,
                _ = open.wait_for(|count| *count > 0) => {}
            }
            left = left.saturating_sub(began.elapsed());
        }
    }
}

/// Guard that counts an open question.
struct OpenQuestion<'a>(&'a watch::Sender<usize>);

impl<'a> OpenQuestion<'a> {
    fn new(open: &'a watch::Sender<usize>) -> Self {
        open.send_modify(|count| *count += 1);
        Self(open)
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use tools::{FormContent, NoElicitation};

    struct Slow(Duration);

    #[async_trait]
    impl Elicitation for Slow {
        async fn ask(&self, _form: Form) -> FormReply {
            sleep(self.0).await;
            FormReply::Declined
        }
    }

    fn form() -> Form {
        Form {
            by: "It".to_owned(),
            message: "?".to_owned(),
            wanted: FormContent::Fields(Vec::new()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_question_does_not_count_for_the_call() {
        let questions = Questions::new(Arc::new(Slow(Duration::from_secs(100))));
        let began = Instant::now();
        tokio::join!(
            questions.time_out(Duration::from_secs(30)),
            questions.ask(form())
        );
        assert_eq!(began.elapsed().as_secs(), 130);
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_has_a_time_limit() {
        let questions = Questions::new(Arc::new(Slow(PATIENCE * 2)));
        assert_eq!(questions.ask(form()).await, FormReply::Cancelled);
        assert_eq!(questions.ask(form()).await, FormReply::Cancelled);
    }

    #[tokio::test]
    async fn the_number_of_questions_is_limited() {
        let questions = Questions::new(Arc::new(NoElicitation));
        for _ in 0..MOST {
            assert_eq!(questions.ask(form()).await, FormReply::Unavailable);
        }
        assert_eq!(questions.ask(form()).await, FormReply::Declined);
    }
}
