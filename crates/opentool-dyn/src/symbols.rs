//! Whether a library has the functions that a document names, by its exports.

use crate::exports::{ExportKind, Exports};
use crate::find::find_library;
use crate::plan::{Helper, Plan};

/// For how many functions names are looked for that come near, so that a document of thousands opens at once.
const MOST_NEAR: usize = 50;

/// Disables the functions of a plan that the library does not define itself.
pub(crate) fn disable_missing(plan: &mut Plan, exports: &Exports) {
    let mut missing = 0;
    let mut needed = None;
    for function in &mut plan.functions {
        if function.disabled.is_some() {
            continue;
        }
        let symbol = &function.symbol;
        function.disabled = match exports.get(symbol).map(|export| export.kind()) {
            Some(ExportKind::Data | ExportKind::ThreadLocal) if function.global.is_none() => {
                Some(format!("`{symbol}` is data of the library, not a function: `x-global` reads it"))
            }
            Some(kind) if function.global.is_some() && kind.is_callable() => {
                Some(format!("`{symbol}` is a function of the library, not data: leave out `x-global`"))
            }
            Some(_) => {
                let is_data =
                    |helper: &&Helper| exports.get(&helper.symbol).is_some() && !is_callable(exports, &helper.symbol);
                function.helpers.iter().find(is_data).map(|Helper { key, symbol }| {
                    format!("`{key}` names `{symbol}`, which is data of the library, not a function")
                })
            }
            None => {
                missing += 1;
                let others = needed.get_or_insert_with(|| Needed::read(exports));
                Some(absent(symbol, exports, others, missing <= MOST_NEAR))
            }
        };
    }
}

/// Whether the library itself defines a function.
pub(crate) fn is_callable(exports: &Exports, symbol: &str) -> bool {
    exports.get(symbol).is_some_and(|export| export.kind().is_callable())
}

/// Whether the library or one that it needs defines a function, as `free` usually is.
pub(crate) fn is_reachable(exports: &Exports, symbol: &str) -> bool {
    is_callable(exports, symbol) || Needed::read(exports).that_defines(symbol).is_some()
}

fn absent(symbol: &str, exports: &Exports, needed: &Needed, look_around: bool) -> String {
    if let Some(library) = needed.that_defines(symbol) {
        return format!("the library does not define `{symbol}`: only {library} does, which it needs; open that one");
    }
    let near = if look_around { exports.nearest(symbol) } else { Vec::new() };
    match near.as_slice() {
        [] => format!("the library has no function `{symbol}`"),
        near => format!("the library has no function `{symbol}`; the nearest are `{}`", near.join("`, `")),
    }
}

/// The exports of the libraries that a library needs.
struct Needed(Vec<(String, Exports)>);

impl Needed {
    fn read(exports: &Exports) -> Self {
        let read = |name: &String| Some((name.clone(), Exports::read(find_library(name).ok()?).ok()?));
        Needed(exports.needed().iter().filter_map(read).collect())
    }

    fn that_defines(&self, symbol: &str) -> Option<&str> {
        self.0.iter().find(|(_, exports)| exports.get(symbol).is_some()).map(|(name, _)| name.as_str())
    }
}
