//! What libffi calls the types of the machine.

use libffi::low::{ffi_type, types};

use crate::plan::Machine;

/// libffi's description of a scalar, which lives for ever.
pub(crate) fn type_of_machine(machine: Machine) -> *mut ffi_type {
    match machine {
        Machine::Bool | Machine::U8 => &raw mut types::uint8,
        Machine::I8 => &raw mut types::sint8,
        Machine::I16 => &raw mut types::sint16,
        Machine::U16 => &raw mut types::uint16,
        Machine::I32 => &raw mut types::sint32,
        Machine::U32 => &raw mut types::uint32,
        Machine::I64 => &raw mut types::sint64,
        Machine::U64 => &raw mut types::uint64,
        Machine::F32 => &raw mut types::float,
        Machine::F64 => &raw mut types::double,
    }
}
