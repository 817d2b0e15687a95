//! The files of the page, which are part of the program: [`answer`].

use std::sync::OnceLock;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION, VARY,
};
use http::{Method, StatusCode};
use opentool_server::FrontendResponse;

use crate::error::ApiError;

/// A file of the page. Its bytes lie in the program and are never copied.
struct Asset {
    path: &'static str,
    content_type: &'static str,
    plain: &'static [u8],
    /// The same, compressed with gzip.
    gzip: &'static [u8],
    /// The hash of its content.
    tag: OnceLock<String>,
}

macro_rules! asset {
    ($path:literal, $file:literal, $content_type:literal) => {
        Asset {
            path: $path,
            content_type: $content_type,
            plain: include_bytes!(concat!("../dist/", $file)),
            gzip: include_bytes!(concat!("../dist/", $file, ".gz")),
            tag: OnceLock::new(),
        }
    };
}

static ASSETS: [Asset; 5] = [
    asset!("/", "index.html", "text/html; charset=utf-8"),
    asset!("/app.js", "app.js", "text/javascript; charset=utf-8"),
    asset!("/app.css", "app.css", "text/css; charset=utf-8"),
    asset!("/icon.svg", "icon.svg", "image/svg+xml"),
    asset!("/LICENSES.txt", "LICENSES.txt", "text/plain; charset=utf-8"),
];

impl Asset {
    /// A tag of the content in one of its encodings: FNV-1a, which need not resist anything but chance.
    fn tag(&self, is_gzip: bool) -> String {
        let tag = self.tag.get_or_init(|| {
            let hash = self.plain.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
            format!("{hash:016x}")
        });
        if is_gzip { format!("\"{tag}-gzip\"") } else { format!("\"{tag}\"") }
    }
}

/// Answers a request for a file.
pub(crate) fn answer(
    method: &Method,
    mount_path: &str,
    path: &str,
    headers: &HeaderMap,
) -> Result<FrontendResponse, ApiError> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(ApiError::method_not_allowed("GET, HEAD"));
    }
    if path.is_empty() {
        // So that the names in the page mean what is below it.
        let location = HeaderValue::try_from(format!("{mount_path}/"));
        let location = location.map_err(|_| ApiError::not_found("no such file"))?;
        return Ok(FrontendResponse::empty(StatusCode::PERMANENT_REDIRECT).with_header(LOCATION, location));
    }
    let asset = ASSETS.iter().find(|asset| asset.path == path).ok_or_else(|| ApiError::not_found("no such file"))?;
    let is_gzip = accepts_gzip(headers);
    let tag = asset.tag(is_gzip);
    let is_known = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|known| known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag));
    let mut response = if is_known {
        FrontendResponse::empty(StatusCode::NOT_MODIFIED)
    } else {
        let bytes = if is_gzip { asset.gzip } else { asset.plain };
        let content_type = HeaderValue::from_static(asset.content_type);
        FrontendResponse::with_body(StatusCode::OK, content_type, Bytes::from_static(bytes))
    };
    if is_gzip && !is_known {
        response = response.with_header(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Ok(tag) = HeaderValue::try_from(tag) {
        response = response.with_header(ETAG, tag);
    }
    Ok(response
        .with_header(CACHE_CONTROL, HeaderValue::from_static("no-cache"))
        .with_header(VARY, HeaderValue::from_static("Accept-Encoding")))
}

/// Says whether the browser reads gzip.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let listed = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    listed.flat_map(|value| value.split(',')).any(|coding| {
        let mut words = coding.split(';').map(str::trim);
        let is_gzip = words.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let weight = words.find_map(|word| word.strip_prefix("q=")).map_or(1.0, |weight| weight.parse().unwrap_or(0.0));
        is_gzip && weight > 0.0_f32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CRC-32 as gzip has it.
    fn checksum(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
        })
    }

    #[test]
    fn compressed_files_are_those_beside_them() {
        for asset in &ASSETS {
            let (plain, gzip) = (asset.plain, asset.gzip);
            assert_eq!(gzip[..3], [0x1f, 0x8b, 8], "{}", asset.path);
            let end = [checksum(plain).to_le_bytes(), (plain.len() as u32).to_le_bytes()].concat();
            assert_eq!(gzip[gzip.len() - 8..], end, "{} is older or newer than its copy", asset.path);
        }
    }

    #[test]
    fn a_browser_gets_gzip_where_it_reads_it() {
        for (accepted, expected) in
            [("gzip, br", true), ("br;q=1.0, GZIP;q=0.5", true), ("gzip;q=0", false), ("*", false)]
        {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(accepts_gzip(&headers), expected, "{accepted}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
