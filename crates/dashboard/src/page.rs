//! The files of the page, which are part of the program.
//!
//! They are reached by their whole paths in one table, so that no path leads anywhere else.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use toolyard_hub::seal::digest;

use crate::Shared;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Every file: its path, its type, its text.
const FILES: [(&str, &str, &str); 26] = [
    ("/dashboard", HTML, include_str!("../page/index.html")),
    ("/dashboard/", HTML, include_str!("../page/index.html")),
    ("/dashboard/api.js", SCRIPT, include_str!("../page/api.js")),
    ("/dashboard/app.js", SCRIPT, include_str!("../page/app.js")),
    ("/dashboard/candidates.js", SCRIPT, include_str!("../page/candidates.js")),
    ("/dashboard/charts.js", SCRIPT, include_str!("../page/charts.js")),
    ("/dashboard/dom.js", SCRIPT, include_str!("../page/dom.js")),
    ("/dashboard/feedback.js", SCRIPT, include_str!("../page/feedback.js")),
    ("/dashboard/format.js", SCRIPT, include_str!("../page/format.js")),
    ("/dashboard/graph.js", SCRIPT, include_str!("../page/graph.js")),
    ("/dashboard/icons.js", SCRIPT, include_str!("../page/icons.js")),
    ("/dashboard/lessons.js", SCRIPT, include_str!("../page/lessons.js")),
    ("/dashboard/overview.js", SCRIPT, include_str!("../page/overview.js")),
    ("/dashboard/picker.js", SCRIPT, include_str!("../page/picker.js")),
    ("/dashboard/routes.js", SCRIPT, include_str!("../page/routes.js")),
    ("/dashboard/servers.js", SCRIPT, include_str!("../page/servers.js")),
    ("/dashboard/sessions.js", SCRIPT, include_str!("../page/sessions.js")),
    ("/dashboard/settings.js", SCRIPT, include_str!("../page/settings.js")),
    ("/dashboard/style.css", STYLE, include_str!("../page/style.css")),
    ("/dashboard/theme.js", SCRIPT, include_str!("../page/theme.js")),
    ("/dashboard/tools.js", SCRIPT, include_str!("../page/tools.js")),
    ("/dashboard/trace.js", SCRIPT, include_str!("../page/trace.js")),
    ("/dashboard/try.js", SCRIPT, include_str!("../page/try.js")),
    ("/dashboard/ui.js", SCRIPT, include_str!("../page/ui.js")),
    ("/dashboard/views.css", STYLE, include_str!("../page/views.css")),
    ("/dashboard/workflows.js", SCRIPT, include_str!("../page/workflows.js")),
];

/// Tells one version of each file from others, in the order of [`FILES`].
static TAGS: LazyLock<Vec<String>> =
    LazyLock::new(|| FILES.iter().map(|(_, _, text)| format!("\"{}\"", digest(&[text]))).collect());

/// Whether a path is one of the page itself. A browser that opens it has no token to show yet, and nothing secret is
/// in it; everything else needs one.
pub fn is_public(path: &str) -> bool {
    FILES.iter().any(|(known, ..)| *known == path)
}

/// Returns the page under its paths.
pub(crate) fn router() -> Router<Arc<Shared>> {
    FILES.iter().enumerate().fold(Router::new(), |router, (at, (path, ..))| {
        router.route(path, get(move |request: Request| async move { file(at, request.headers()) }))
    })
}

fn file(at: usize, headers: &HeaderMap) -> Response {
    let ((_, kind, text), tag) = (FILES[at], TAGS[at].as_str());
    let known = headers.get(header::IF_NONE_MATCH).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let is_known = known.split(',').any(|it| it.trim().trim_start_matches("W/") == tag || it.trim() == "*");
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text).into_response(),
    };
    let headers = response.headers_mut();
    // A new program has new files, so a browser asks each time whether its copy is still good.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r15_every_file_of_the_page_is_served_and_only_the_page_needs_no_token() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/page");
        let files = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name());
        let files: Vec<String> = files.map(|it| it.into_string().unwrap()).collect();
        assert!(files.contains(&"index.html".to_owned()), "{files:?}");
        for name in files.iter().filter(|name| *name != "index.html") {
            assert!(is_public(&format!("/dashboard/{name}")), "`{name}` is missing in `FILES`");
        }
        for path in ["/dashboard/api/tools", "/dashboard/index.html", "/dashboard/../mcp", "/mcp", ""] {
            assert!(!is_public(path), "{path}");
        }
    }
}
