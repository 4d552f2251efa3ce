//! Images that models look at: recognized by their first bytes, decoded to see whether they are
//! whole, and scaled down.
//!
//! Blocking, because decoding takes up to seconds.

use std::io::Cursor;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chat::prompt::{Attachment, Content};
use chat::result_files::{ResultFile, line};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

/// Maximum bytes of an image's file (20 MB), the limit of references, too.
pub(crate) const MAX_FILE: u64 = 20 * 1024 * 1024;
/// Longest edge of an image that is sent, in pixels. Claude scales larger ones down to it, and only
/// models since Opus 4.7 see more, up to 2576 pixels (platform.claude.com, "Vision", as of 2026). By
/// the same page, a request with more than 20 images may have none above 2000 pixels.
const LONGEST: u32 = 1568;
/// Maximum bytes of an image that is sent. In Base64 they are below 5 MB, the least limit of platforms
/// with Anthropic's API (same page).
const MAX_SENT: usize = 3_500_000;
/// Maximum width and height of an image's file in pixels.
const MAX_SIDE: u32 = 20_000;
/// Maximum memory for the pixels of an image (256 MB): 64 megapixels with four bytes each. Scaling
/// takes about as much again.
const MAX_MEMORY: u64 = 256 * 1024 * 1024;
/// Quality of a JPEG, from 1 to 100, at which text stays readable.
const QUALITY: u8 = 85;

/// Held while an image is decoded, so that several calls need the memory of one.
static DECODING: Mutex<()> = Mutex::new(());

/// Returns the MIME type that the first bytes of a file show, among those that providers accept.
pub fn sniffed(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("application/pdf"),
        _ => None,
    }
}

/// Returns an image for the result of a call, scaled down if it is large. Blocking.
///
/// # Errors
///
/// It cannot be shown: a sentence that follows its name.
pub fn result_file(name: &str, bytes: Vec<u8>) -> Result<ResultFile, String> {
    let format = sniffed(&bytes).and_then(ImageFormat::from_mime_type);
    let format = format.ok_or("is not a PNG, JPEG, GIF, or WebP image.")?;
    let _one = DECODING.lock().unwrap_or_else(PoisonError::into_inner);
    let image = decoded(&bytes, format)
        .map_err(|error| format!("cannot be shown as an image: {}.", reason(&error)))?;
    let (width, height) = (image.width(), image.height());
    let is_large = width.max(height) > LONGEST;
    // Gemini takes no GIF, and no provider looks at more than the first frame.
    let is_sent_as_is = !is_large && format != ImageFormat::Gif && bytes.len() <= MAX_SENT;
    let mut facts = vec![format!("{width} x {height} pixels")];
    let (format, bytes) = if is_sent_as_is {
        (format, bytes)
    } else {
        let image = if is_large {
            let scaled = image.resize(LONGEST, LONGEST, FilterType::CatmullRom);
            facts.push(format!("sent as {} x {}", scaled.width(), scaled.height()));
            scaled
        } else {
            image
        };
        encoded(&image, format).map_err(|error| format!("cannot be scaled down: {error}."))?
    };
    let digest = blake3::hash(&bytes).to_hex();
    Ok(ResultFile {
        line: line("image", name, &facts, bytes.len() as u64, &digest),
        file: Attachment {
            name: name.to_owned(),
            language: String::new(),
            content: Content::Image {
                mime: format.to_mime_type().to_owned(),
                base64: STANDARD.encode(bytes),
            },
        },
    })
}

/// Decodes an image, or the first frame of an animation, and turns it as its metadata say.
fn decoded(bytes: &[u8], format: ImageFormat) -> Result<DynamicImage, ImageError> {
    let mut limits = Limits::no_limits();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_MEMORY);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder()?;
    // Before its pixels are read: a small file may have many.
    limits.reserve(decoder.total_bytes())?;
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok(image)
}

/// Encodes an image that was scaled: drawings as PNG, which keeps their lines sharp, photos as JPEG.
fn encoded(image: &DynamicImage, from: ImageFormat) -> Result<(ImageFormat, Vec<u8>), ImageError> {
    let is_drawing = matches!(from, ImageFormat::Png | ImageFormat::Gif);
    if is_drawing || image.color().has_alpha() {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, ImageFormat::Png)?;
        if bytes.get_ref().len() <= MAX_SENT {
            return Ok((ImageFormat::Png, bytes.into_inner()));
        }
    }
    let mut bytes = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
    image.to_rgb8().write_with_encoder(encoder)?;
    Ok((ImageFormat::Jpeg, bytes))
}

fn reason(error: &ImageError) -> String {
    match error {
        ImageError::Limits(_) => format!(
            "it has more than {MAX_SIDE} pixels on a side, or needs more than {} MB of memory",
            MAX_MEMORY / 1024 / 1024
        ),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use image::{Rgb, RgbImage};

    use super::*;

    /// Returns an image of stripes in a format.
    fn image(format: ImageFormat, width: u32, height: u32) -> Vec<u8> {
        let stripes = RgbImage::from_fn(width, height, |x, _| Rgb([u8::from(x % 2 == 0) * 255; 3]));
        let mut bytes = Cursor::new(Vec::new());
        stripes.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    /// The type, bytes, width, and height of an image that is sent.
    fn sent(file: &ResultFile) -> (String, Vec<u8>, u32, u32) {
        let Content::Image { mime, base64 } = &file.file.content else {
            panic!("{file:?}");
        };
        let bytes = STANDARD.decode(base64).unwrap();
        let image = image::load_from_memory(&bytes).unwrap();
        (mime.clone(), bytes, image.width(), image.height())
    }

    #[test]
    fn a_small_image_is_sent_as_it_is() {
        for (format, mime) in [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Jpeg, "image/jpeg"),
            (ImageFormat::WebP, "image/webp"),
        ] {
            let bytes = image(format, 20, 10);
            let digest = blake3::hash(&bytes).to_hex().to_string();
            let file = result_file("a b.x", bytes.clone()).unwrap();
            assert_eq!(sent(&file), (mime.to_owned(), bytes.clone(), 20, 10));
            let line = format!(
                "[image a b.x, 20 x 10 pixels, {}, blake3 {}]",
                chat::truncate::format_size(bytes.len() as u64),
                &digest[..16]
            );
            assert_eq!(file.line, line);
        }
    }

    #[test]
    fn a_large_image_is_scaled_down() {
        for (format, mime) in [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Jpeg, "image/jpeg"),
        ] {
            let file = result_file("x", image(format, 3136, 10)).unwrap();
            let (sent_mime, _, width, height) = sent(&file);
            assert_eq!((&*sent_mime, width, height), (mime, 1568, 5));
            let facts = "[image x, 3136 x 10 pixels, sent as 1568 x 5, ";
            assert!(file.line.starts_with(facts), "{}", file.line);
        }
    }

    #[test]
    fn a_gif_is_sent_as_png_which_every_provider_takes() {
        let file = result_file("x.gif", image(ImageFormat::Gif, 20, 10)).unwrap();
        let (mime, _, width, height) = sent(&file);
        assert_eq!((&*mime, width, height), ("image/png", 20, 10));
    }

    #[test]
    fn what_is_no_whole_image_is_refused() {
        let whole = image(ImageFormat::Png, 200, 100);
        for bytes in [
            &b"GIF89a"[..],
            &b"\x89PNG\r\n\x1a\n"[..],
            &whole[..whole.len() / 2],
        ] {
            let why = result_file("x", bytes.to_vec()).unwrap_err();
            assert!(why.starts_with("cannot be shown as an image: "), "{why}");
        }
        let why = result_file("x", b"text".to_vec()).unwrap_err();
        assert_eq!(why, "is not a PNG, JPEG, GIF, or WebP image.");
    }

    #[test]
    fn an_image_of_many_pixels_is_refused_before_they_are_read() {
        // The header of a PNG claims 19,000 x 19,000 pixels, and the rest is missing.
        let mut bytes = image(ImageFormat::Png, 1, 1);
        for at in [16, 20] {
            bytes[at..at + 4].copy_from_slice(&19_000_u32.to_be_bytes());
        }
        let checksum = crc(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&checksum.to_be_bytes());
        let why = result_file("x", bytes).unwrap_err();
        assert!(
            why.contains("more than 20000 pixels on a side, or needs more than 256 MB"),
            "{why}"
        );
    }

    /// The CRC-32 of a PNG's chunk.
    fn crc(bytes: &[u8]) -> u32 {
        let bit = |crc: u32| (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
        let byte = |crc, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| bit(crc));
        !bytes.iter().fold(!0, byte)
    }
}
