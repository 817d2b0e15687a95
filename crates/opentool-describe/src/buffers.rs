//! Texts, bytes and arrays, with what counts them.

use opentool_spec::{CType, CTypeName, SchemaType};

use crate::ctype::Type;
use crate::draft::{FunctionDraft, seen_as};
use crate::evidence::MayBeNull;
use crate::parameter_draft::ParameterDraft;
use crate::roles::{BufferRole, Counter};
use crate::words::{self, Direction};

/// What functions have in their names that return how much they wrote.
const AMOUNTS: [&str; 10] =
    ["compress", "decompress", "uncompress", "encode", "decode", "read", "bzread", "gzread", "recv", "remove"];

/// Whether bytes are text, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Text,
    /// Text, as far as names and comments do not say otherwise.
    ProbablyText,
    Bytes,
    /// Bytes, by the name of the function.
    ProbablyBytes,
}

impl FunctionDraft<'_, '_> {
    /// Text, or bytes with their length.
    pub(crate) fn bytes(&mut self, index: usize, target: &Type, what: &str) -> Result<(), String> {
        let Some(role) = self.roles.buffers[index].clone() else { return self.cell(index, target, what) };
        // The buffer would be gone when the object writes to it.
        let is_kept = words::has_any(self.name, &["set"]) && words::has_any(self.name, &["output", "buffer", "buf"]);
        if !target.is_const && is_kept && (!role.goes_in || words::has_any(self.own_name(index), &["output", "out"])) {
            return Err(format!("{what}, a buffer that must outlive the call"));
        }
        if self.is_counted_twice(&role) {
            return Err(format!("{what}, whose length is the product of two parameters"));
        }
        match (role.goes_in, role.size) {
            (true, Some(counter)) => self.bytes_in(index, target, &role, counter),
            (true, None) => self.text_in(index, target, &role, what)?,
            (false, Some(counter)) => self.bytes_out(index, target, &role, counter),
            (false, None) => self.uncounted_out(index, target, &role, what)?,
        }
        Ok(())
    }

    /// `(data, size, count)`: so many elements of that size.
    fn is_counted_twice(&self, role: &BufferRole) -> bool {
        let Some(size) = role.size.filter(|size| !size.by_pointer) else { return false };
        let after = self.signature.parameters.get(size.index + 1);
        let is_number =
            |name: &str| words::has_any(name, &["nmemb", "nitems", "nelem", "nelems", "count", "num", "number", "n"]);
        words::has_any(self.own_name(size.index), &["size", "width"])
            && after.is_some_and(|(name, kind)| kind.is_integer() && is_number(name.as_deref().unwrap_or_default()))
    }

    /// A pointer to one byte that counts something.
    fn cell(&mut self, index: usize, target: &Type, what: &str) -> Result<(), String> {
        match target.scalar() {
            Some(scalar) => {
                self.scalars(index, scalar);
                Ok(())
            }
            None => Err(format!("{what}, an address without a length")),
        }
    }

    fn bytes_draft(&self, index: usize, target: &Type) -> ParameterDraft {
        let scalar = if target.is_text() { CTypeName::Char } else { CTypeName::UnsignedChar };
        ParameterDraft::new(&self.names[index], SchemaType::String, CType::pointer(scalar))
    }

    /// What bytes with a length hold.
    fn content(&self, index: usize, target: &Type) -> Content {
        if !target.is_text() {
            return Content::Bytes;
        }
        let own = self.own_name(index);
        if words::is_text(own) {
            return Content::Text;
        }
        if self.evidence.speaks_of_bytes() {
            return Content::Bytes;
        }
        if words::is_binary(self.name) {
            return Content::ProbablyBytes;
        }
        if self.evidence.speaks_of_text(own) { Content::Text } else { Content::ProbablyText }
    }

    fn encoded(&self, index: usize, target: &Type, draft: ParameterDraft) -> ParameterDraft {
        match self.content(index, target) {
            Content::Text => draft,
            Content::ProbablyText => {
                draft.review("it is taken as text: where it holds other bytes, say `\"x-encoding\": \"base64\"`")
            }
            Content::Bytes => draft.base64(),
            Content::ProbablyBytes => draft
                .base64()
                .review("by the name of the function, it is taken as bytes: where it is text, remove `x-encoding`"),
        }
    }

    /// What goes in with its length.
    fn bytes_in(&mut self, index: usize, target: &Type, role: &BufferRole, counter: Counter) {
        let counted_by = self.names[counter.index].clone();
        let draft = self.bytes_draft(index, target).key("x-lengthParam", counted_by.clone());
        let draft = self.encoded(index, target, draft);
        let draft = draft.review_if(!counter.is_sure, || guessed(&counted_by));
        let draft = self.counted_in_bytes(index, target, counter, draft);
        let draft = self.read_by_name(index, role, draft);
        let draft = self.nullable(index, draft);
        self.push(index, draft);
    }

    /// Marks what may be elements of any size whose number the function gets.
    fn counted_in_bytes(&self, index: usize, target: &Type, counter: Counter, draft: ParameterDraft) -> ParameterDraft {
        let may_differ =
            target.is_void() && words::may_count_elements(self.own_name(counter.index), self.own_name(index));
        draft.review_if(may_differ, || {
            let counter = &self.names[counter.index];
            format!("`{counter}` is taken to count bytes: where it counts larger elements, say `\"type\": \"array\"` and their `cType`")
        })
    }

    /// What goes in without a length.
    fn text_in(&mut self, index: usize, target: &Type, role: &BufferRole, what: &str) -> Result<(), String> {
        if target.is_void() {
            return Err(format!("{what}, an address without a length"));
        }
        let is_text = target.is_text();
        let draft = self.bytes_draft(index, target);
        let what = what.trim_start_matches("takes ");
        let fixed = self.signature.parameters[index].1.array_length();
        let defined = if fixed.is_none() { self.defined_size(index) } else { None };
        let draft = match (fixed, defined) {
            _ if is_text => draft,
            (Some(length), _) => draft.base64().exactly(["minLength", "maxLength"], length_in_base64(length)),
            (None, Some((length, by))) => draft
                .base64()
                .exactly(["minLength", "maxLength"], length_in_base64(length))
                .review(format!("{what} is taken to have {length} bytes, by `{by}`")),
            (None, None) => {
                draft.review(format!("{what} is taken as text: where it holds other bytes, say `x-encoding`"))
            }
        };
        let sibling = self.families.sibling(self.name, self.signature, index).filter(|_| is_text);
        let draft = draft.review_if(sibling.is_some(), || {
            format!(
                "{what} is taken as text that ends with a NUL, but `{}` takes numbers there: where the function reads \
                 as many bytes as it wants, say that in `minLength`, or remove it",
                sibling.unwrap_or_default()
            )
        });
        let draft = self.read_by_name(index, role, draft);
        let draft = self.nullable(index, draft);
        self.push(index, draft);
        Ok(())
    }

    /// Marks what only its name says that it is read.
    fn read_by_name(&self, index: usize, role: &BufferRole, draft: ParameterDraft) -> ParameterDraft {
        let kind = &self.signature.parameters[index].1;
        draft.review_if(!role.is_direction_sure, || {
            let what = kind.declare(&self.names[index]);
            format!("`{what}` is taken as input by its name: say `\"isIn\": false` where it is written")
        })
    }

    /// What may be left out, where the comment says that it may be NULL.
    pub(crate) fn nullable(&self, index: usize, draft: ParameterDraft) -> ParameterDraft {
        match self.evidence.null(self.own_name(index)) {
            Some(MayBeNull::Yes) => draft.optional(),
            _ => draft,
        }
    }

    /// A buffer with its size, which the function fills.
    fn bytes_out(&mut self, index: usize, target: &Type, role: &BufferRole, counter: Counter) {
        let (name, size) = (self.names[index].clone(), self.names[counter.index].clone());
        let content = self.content(index, target);
        let is_text = matches!(content, Content::Text | Content::ProbablyText);
        let mut draft = self.bytes_draft(index, target).out().key("x-sizeParam", size.clone());
        draft = self.encoded(index, target, draft);
        draft = self.counted_in_bytes(index, target, counter, draft);
        let is_said = self.said(index).and_then(|said| said.direction).is_some();
        if counter.by_pointer {
            draft = draft.key("x-lengthParam", size.clone());
            draft = draft.review_if(!(counter.is_sure && is_said), || {
                format!("`{size}` is taken as the size of the buffer before the call, and the length of its content after it")
            });
        } else if let Some(length) = role.length {
            draft = draft.key("x-lengthParam", self.names[length].clone());
        } else if !is_text && self.signature.returns.is_integer() && self.evidence.returns_length() {
            draft = draft.key("x-lengthParam", self.result.clone());
        } else if !is_text
            && self.signature.returns.is_integer()
            && self.signature.returns.enumeration().is_none()
            && words::has_any(self.name, &AMOUNTS)
        {
            draft = draft
                .key("x-lengthParam", self.result.clone())
                .review("the result of the function is taken to be how much it wrote");
        } else if role.is_copy {
            let from = self.names[index + 1].clone();
            draft = draft.review(if target.is_text() {
                format!("`{size}` is taken as the size of `{name}`: where it is the length of `{from}`, say that there by `x-lengthParam`")
            } else {
                format!("`{name}` is taken to be as long as `{from}`: where it is not, say `x-size`")
            });
        } else if !is_text {
            draft = draft.review(
                "the whole buffer is given back: where the function says how much it wrote, name that in `x-lengthParam`",
            );
        }
        draft = draft.review_if(!counter.is_sure && !role.is_copy && !counter.by_pointer, || {
            format!("`{size}` is taken as the size of the buffer by its type and place")
        });
        let is_capacity = words::has_any(&size, &["size", "capacity", "cap", "max", "avail", "limit", "bufsize"]);
        let is_known =
            is_said || counter.by_pointer || is_capacity || words::direction(self.name, &name) == Some(Direction::Out);
        draft = draft.review_if(!is_known && !role.is_copy, || {
            format!("`{name}` is taken as a buffer that the function fills: say `\"isIn\": true` where it is read")
        });
        self.push(index, draft);
    }

    /// A buffer of a size that is not given.
    fn uncounted_out(&mut self, index: usize, target: &Type, role: &BufferRole, what: &str) -> Result<(), String> {
        if target.is_void() {
            return Err(format!("{what}, an address without a length"));
        }
        let what = what.trim_start_matches("takes ");
        if self.is_changed_in_place(index, target) {
            let draft = self.bytes_draft(index, target);
            self.push(
                index,
                draft.review(format!(
                    "{what} is taken as input, which the function may change: the result is what it returns"
                )),
            );
            return Ok(());
        }
        let fixed = self.signature.parameters[index].1.array_length();
        let defined = if fixed.is_none() && !target.is_text() { self.defined_size(index) } else { None };
        let draft = self.bytes_draft(index, target).out();
        let draft = if target.is_text() || fixed.is_some() { draft } else { draft.base64() };
        let draft = match fixed {
            Some(length) => {
                let draft = if target.is_text() { draft } else { draft.base64() };
                draft.key("x-size", length).review_if(!role.is_direction_sure, || {
                    format!("{what} is taken as output: say `\"isIn\": true` where it is read")
                })
            }
            None if defined.is_some() => {
                let (length, by) = defined.unwrap_or_default();
                draft
                    .key("x-size", length)
                    .review(format!("{what} is taken as a buffer of {length} bytes that the function fills, by `{by}`"))
            }
            None => draft.key("x-size", 4096).review(format!(
                "{what} is taken as a buffer of 4096 bytes that the function fills: say in `x-size` how many it may \
                 need, or `\"isIn\": true` where it is read"
            )),
        };
        self.push(index, draft);
        Ok(())
    }

    /// Whether a text is the only thing that the function works on, and a text is what it returns: `strlower(text)`.
    fn is_changed_in_place(&self, index: usize, target: &Type) -> bool {
        let is_only = |other: usize| other == index || self.signature.parameters[other].1.pointee().is_none();
        let returns_text = self.signature.returns.pointee().is_some_and(|returned| returned.is_text());
        target.is_text()
            && returns_text
            && (0..self.signature.parameters.len()).all(is_only)
            && self.signature.parameters[index].1.array_length().is_none()
            && words::direction(self.name, self.own_name(index)) != Some(Direction::Out)
            && !words::has_any(self.own_name(index), &["buf", "buffer"])
    }

    /// The size of a buffer by a macro that is named after the function: `SHA256_DIGEST_LENGTH`, `crypto_auth_KEYBYTES`.
    fn defined_size(&self, index: usize) -> Option<(u64, String)> {
        let suffixes: &[&str] = match self.own_name(index).trim_end_matches(|char: char| char.is_ascii_digit()) {
            "k" | "key" => &["_KEYBYTES", "_KEY_SIZE", "_KEY_LENGTH"],
            "n" | "nonce" | "npub" => &["_NONCEBYTES", "_NPUBBYTES", "_NONCE_SIZE"],
            "pk" => &["_PUBLICKEYBYTES"],
            "sk" => &["_SECRETKEYBYTES"],
            "seed" => &["_SEEDBYTES"],
            "salt" => &["_SALTBYTES"],
            "iv" => &["_IV_SIZE", "_IV_LENGTH"],
            "mac" => &["_MACBYTES", "_ABYTES", "_BYTES"],
            "out" | "md" | "digest" | "h" | "hash" | "sig" | "q" | "output" => {
                &["_DIGEST_LENGTH", "_DIGEST_SIZE", "_BYTES"]
            }
            _ => return None,
        };
        let mut prefix = self.name;
        while prefix.len() > 2 {
            for suffix in suffixes {
                let found = [format!("{prefix}{suffix}"), format!("{}{suffix}", prefix.to_uppercase())];
                let size = found.into_iter().find_map(|name| Some((self.macros.number(&name)?, name)));
                if let Some((size, name)) = size {
                    return u64::try_from(size).ok().filter(|size| (1..=65536).contains(size)).map(|size| (size, name));
                }
            }
            // `SHA1` has `SHA_DIGEST_LENGTH`.
            prefix = match (prefix.rsplit_once('_'), prefix.strip_suffix('1')) {
                (Some((shorter, _)), _) => shorter,
                (None, Some(shorter)) => shorter,
                (None, None) => return None,
            };
        }
        None
    }

    /// One number behind a pointer, or many with their length.
    pub(crate) fn scalars(&mut self, index: usize, scalar: CTypeName) {
        let (name, kind) = (self.names[index].clone(), &self.signature.parameters[index].1);
        let what = format!("`{}`", kind.declare(&name));
        let Some(role) = self.roles.buffers[index].clone() else {
            self.counter_cell(index, scalar);
            return;
        };
        let array = ParameterDraft::new(&name, SchemaType::Array, CType::pointer(scalar));
        let is_said = self.said(index).and_then(|said| said.direction).is_some();
        let taken_as_output = || format!("{what} is taken as output: say `\"isIn\": true` where it is read");
        if let Some(length) = kind.array_length() {
            let draft = if role.goes_in {
                array.exactly(["minItems", "maxItems"], length)
            } else {
                array.out().key("x-size", length).review_if(!is_said, taken_as_output)
            };
            self.push(index, draft);
            return;
        }
        if let Some(counter) = role.size.filter(|counter| !counter.by_pointer) {
            let size = self.names[counter.index].clone();
            let draft = if role.goes_in {
                let draft = array.key("x-lengthParam", size.clone()).review_if(!counter.is_sure, || guessed(&size));
                self.nullable(index, draft)
            } else {
                array.out().key("x-sizeParam", size.clone()).review_if(!is_said, || {
                    if role.is_copy {
                        format!(
                            "`{name}` is taken to be as long as `{}`: where it is not, say `x-size`",
                            self.names[index + 1]
                        )
                    } else {
                        format!("{what} is taken as an array of `{size}` elements that the function fills")
                    }
                })
            };
            self.push(index, draft);
            return;
        }
        let draft = ParameterDraft::new(&name, seen_as(scalar), CType::pointer(scalar));
        let in_and_out = self.said(index).and_then(|said| said.direction) == Some((true, true));
        let draft = match role.goes_in {
            _ if in_and_out => draft.key("x-inOut", true),
            true => {
                let draft = draft.review_if(!is_said, || {
                    format!("{what} is taken as one value: where it is an array, say `\"type\": \"array\"`")
                });
                self.nullable(index, draft)
            }
            false => draft.out().review_if(!is_said, taken_as_output),
        };
        self.push(index, draft);
    }

    /// A number behind a pointer that counts a buffer.
    fn counter_cell(&mut self, index: usize, scalar: CTypeName) {
        let draft = ParameterDraft::new(&self.names[index], SchemaType::Integer, CType::pointer(scalar));
        let counted =
            self.roles.counted_by(index).next().map(|(buffer, role)| (self.names[buffer].clone(), role.clone()));
        let Some((name, role)) = counted else {
            self.push(index, draft.out());
            return;
        };
        let (draft, text) = if role.goes_in {
            (
                draft.optional().key("x-inOut", true),
                format!("The length of `{name}`; afterwards, how much of it was read."),
            )
        } else if role.length == Some(index) {
            (draft.out(), format!("How much of `{name}` was written."))
        } else {
            let text = format!("The size of the buffer for `{name}`; afterwards, how much of it was used.");
            (draft.optional().key("x-inOut", true), text)
        };
        self.push_described(index, draft, &text);
    }
}

/// Why a length that is not named like one should be checked.
fn guessed(counter: &str) -> String {
    format!(
        "`{counter}` is taken as its length by its type and place: where it is something else, remove `x-lengthParam`"
    )
}

/// How many characters bytes have in base 64: four for every three of them.
fn length_in_base64(bytes: u64) -> u64 {
    bytes.div_ceil(3).saturating_mul(4)
}
