//! Cost of a request in dollars.
//!
//! Only arithmetic; the caller supplies tokens and prices.

use super::Price;
use crate::Usage;

/// Dollars, by kind of token.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// For input tokens, including the cache.
    pub input: f64,
    /// For output tokens, including thinking.
    pub output: f64,
}

impl Cost {
    /// Returns the sum.
    pub fn total(&self) -> f64 {
        self.input + self.output
    }
}

impl Price {
    /// Returns the cost of these tokens. `long` is true if the cache was asked to keep them
    /// for an hour.
    pub fn cost(&self, usage: &Usage, long: bool) -> Cost {
        let [input, output, read, written] = [
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_creation,
        ]
        .map(Option::unwrap_or_default);
        let prompt = input + read + written;
        let tier = self.above.filter(|above| prompt > above.tokens);
        let (input_price, output_price, read_price) = match tier {
            Some(above) => (above.input, above.output, above.cache_read),
            None => (self.input, self.output, self.cache_read),
        };
        let short_price = self.cache_write.unwrap_or(self.input);
        let write_price = match self.cache_write_long {
            Some(price) if long => price,
            _ => short_price,
        };
        // Writes cost a multiple of the input, which is the same for long prompts.
        let write_price = match tier {
            Some(above) if self.input > 0.0 => write_price * above.input / self.input,
            _ => write_price,
        };
        Cost {
            input: dollars(input, input_price)
                + dollars(read, read_price.unwrap_or(input_price))
                + dollars(written, write_price),
            output: dollars(output, output_price),
        }
    }
}

fn dollars(tokens: u64, per_million: f64) -> f64 {
    // The cast is exact up to 2^53 tokens.
    tokens as f64 * per_million / 1e6
}
