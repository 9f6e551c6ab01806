//! Colours, for light and dark.

/// Where a picture's colours come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// The picture is a file of its own: it carries a style sheet that follows the reader's light or dark.
    Own,
    /// The picture is part of a page, whose style sheet has the classes; the page may forbid inline styles.
    OfPage,
}

/// The classes that pictures use. Contrast of text against its ground is at least 4.5 to 1 in both.
const SHEET: &str = "\
.ground{fill:#fff}.text{fill:#1f2328}.faint{fill:#59636e}.axis{stroke:#59636e}.grid{stroke:#d1d9e0}\
.bar{fill:#1a7f37}.edge{fill:none;stroke:#59636e;stroke-width:1.5}.tip{fill:#59636e}\
.box{fill:#f6f8fa;stroke:#818b98}.done{fill:#dafbe1}.active{fill:#fff8c5}.alarm{fill:#ffebe9}\
@media(prefers-color-scheme:dark){\
.ground{fill:#0d1117}.text{fill:#f0f6fc}.faint{fill:#9198a1}.axis{stroke:#9198a1}.grid{stroke:#3d444d}\
.bar{fill:#3fb950}.edge{stroke:#9198a1}.tip{fill:#9198a1}\
.box{fill:#151b23;stroke:#656c76}.done{fill:#12361f}.active{fill:#3b2f04}.alarm{fill:#4a1618}}";

impl Style {
    /// The style element of a picture, if it has one.
    pub(crate) fn element(self) -> String {
        match self {
            Self::Own => format!("<style>{SHEET}</style>"),
            Self::OfPage => String::new(),
        }
    }
}
