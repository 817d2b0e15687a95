//! Where the fields of structs lie, by the rules of C.

use std::collections::HashMap;
use std::ffi::{c_int, c_long, c_longlong, c_short};
use std::rc::Rc;

use opentool_spec::CTypeName;

use crate::ctype::{Record, Type, TypeKind};

/// Structs that nest deeper than this are given up.
const DEEPEST: usize = 16;

/// The size of a struct, and where its fields are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// Of every field; nothing for those of some bits.
    pub(crate) offsets: Vec<Option<u64>>,
}

impl Layout {
    /// Computes the layout of a struct or union, where all its fields are known.
    pub(crate) fn find(records: &HashMap<Rc<str>, Record>, key: &str) -> Option<Self> {
        of_record(records, key, 0)
    }
}

fn of_record(records: &HashMap<Rc<str>, Record>, key: &str, depth: usize) -> Option<Layout> {
    let record = records.get(key)?;
    let fields = record.fields.as_ref().filter(|fields| !fields.is_empty() && depth < DEEPEST)?;
    let (mut bits, mut size, mut align) = (0_u64, 0_u64, 1_u64);
    let mut offsets = Vec::with_capacity(fields.len());
    for field in fields {
        let (of_field, of_align) = of_type(records, &field.kind, depth + 1)?;
        let start = if record.is_union { 0 } else { bits };
        let end = match field.bits {
            // A width of 0 ends the unit; a field of bits never crosses one.
            Some(0) => {
                bits = start.next_multiple_of(of_field * 8);
                offsets.push(None);
                continue;
            }
            Some(width) => {
                let unit = of_field * 8;
                let start =
                    if start / unit == (start + width - 1) / unit { start } else { start.next_multiple_of(unit) };
                offsets.push(None);
                start + width
            }
            None => {
                let start = start.next_multiple_of(of_align * 8);
                offsets.push(Some(start / 8));
                start.checked_add(of_field.checked_mul(8)?)?
            }
        };
        bits = end;
        size = size.max(end.div_ceil(8));
        align = align.max(of_align);
    }
    Some(Layout { size: size.next_multiple_of(align), align, offsets })
}

/// Size and alignment of a type.
pub(crate) fn of_type(records: &HashMap<Rc<str>, Record>, kind: &Type, depth: usize) -> Option<(u64, u64)> {
    let both = |size: usize| Some((size as u64, size as u64));
    match kind.resolved().kind {
        TypeKind::Scalar(name) => both(scalar_size(name)?),
        TypeKind::SignedChar => both(1),
        TypeKind::Enum(_) => both(scalar_size(kind.scalar()?)?),
        TypeKind::Pointer(_) => both(size_of::<usize>()),
        TypeKind::Array(element, Some(length)) => {
            let (size, align) = of_type(records, &element, depth + 1)?;
            Some((size.checked_mul(length)?, align))
        }
        TypeKind::Record(key) => of_record(records, &key, depth + 1).map(|layout| (layout.size, layout.align)),
        TypeKind::Other(text) if text == "long double" && cfg!(target_arch = "x86_64") => both(16),
        _ => None,
    }
}

fn scalar_size(name: CTypeName) -> Option<usize> {
    Some(match name {
        CTypeName::Void => return None,
        CTypeName::Bool | CTypeName::Char | CTypeName::UnsignedChar => 1,
        CTypeName::Short | CTypeName::UnsignedShort => size_of::<c_short>(),
        CTypeName::Int | CTypeName::UnsignedInt => size_of::<c_int>(),
        CTypeName::Long | CTypeName::UnsignedLong => size_of::<c_long>(),
        CTypeName::LongLong | CTypeName::UnsignedLongLong => size_of::<c_longlong>(),
        CTypeName::Float => 4,
        CTypeName::Double => 8,
    })
}
