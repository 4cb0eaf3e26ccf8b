//! How the pages look. They run no script; whatever came is shown as text.

const STYLE: &str = "body{margin:2rem auto;max-width:72rem;padding:0 1rem;font:15px/1.5 system-ui,sans-serif;color:#17211d;background:#f6f7f5}\
    table{border-collapse:collapse;width:100%;background:#fff}td,th{padding:.5rem;border:1px solid #e2e6e0;text-align:left;vertical-align:top}\
    a{color:#0f6259}pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:1rem;background:#fff;border:1px solid #e2e6e0}\
    code{font-size:13px;overflow-wrap:anywhere}iframe{width:100%;height:36rem;border:1px solid #e2e6e0;background:#fff}\
    button,input{font:inherit;padding:.3rem .7rem;border:1px solid #8fa099;border-radius:4px;background:#fff;color:inherit}\
    button[aria-pressed=true]{background:#0f6259;border-color:#0f6259;color:#fff}label{display:block;margin:.7rem 0}input{width:36rem;max-width:100%}\
    .good{color:#0b6b3a}.bad{color:#a3161a}.soft{color:#56645d}";

/// For pages that show what comes.
pub(super) const LIVE: &str = "<meta http-equiv=\"refresh\" content=\"3\">";

/// `title` is text; `head` and `body` are HTML.
pub(super) fn page(title: &str, head: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>{head}<style>{STYLE}</style></head>\
         <body><main><h1>{title}</h1>{body}</main></body></html>"
    )
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
