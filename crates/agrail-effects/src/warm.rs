//! What is prepared at first use: tables, grammars, searches.

use crate::shell::{NoFiles, read_source};

/// Sources that use each reader once.
const SOURCES: [(&str, &str); 3] = [
    ("bash", "true"),
    ("python", "import os\nos.getcwd()\n"),
    ("js", "const fs = require('fs');\nfs.existsSync('a');\n"),
];

/// Prepares the tables, parsers and searches that are otherwise prepared when they are used first, on the calling thread.
/// For hosts that stay.
pub fn warm() {
    for (language, source) in SOURCES {
        let _ = read_source(language, source, "", "", "", &NoFiles);
    }
    crate::shell::warm();
}
