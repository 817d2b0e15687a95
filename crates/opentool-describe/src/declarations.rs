//! What headers declare: prototypes, and the types that they use.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use lang_c::ast::{
    ArraySize, BinaryOperator, Constant, Declaration, DeclarationSpecifier, Declarator, DeclaratorKind,
    DerivedDeclarator, Ellipsis, EnumType, Expression, Extension, ExternalDeclaration, FunctionDeclarator, IntegerBase,
    PointerQualifier, SpecifierQualifier, StorageClassSpecifier, StructDeclaration, StructKind, StructType,
    TS18661FloatFormat, TypeName, TypeOf, TypeQualifier, TypeSpecifier, UnaryOperator,
};
use lang_c::driver::{Config, parse_preprocessed};
use lang_c::span::Node;
use opentool_spec::CTypeName;

use crate::ctype::{Enumeration, Field, Record, Signature, Type, TypeKind};
use crate::statements::{blank, statements};

/// How many declarations may be beyond the parser before it is given up.
const MOST_FAULTS: usize = 64;
/// Declarations that nest deeper than this are left out: the parser recurses.
const DEEPEST: usize = 128;

/// Everything that preprocessed headers declare.
#[derive(Debug, Default)]
pub(crate) struct Declarations {
    /// In the order of the text.
    pub(crate) prototypes: Vec<Prototype>,
    /// The variables that are declared, in the order of the text.
    pub(crate) variables: Vec<Variable>,
    pub(crate) records: HashMap<Rc<str>, Record>,
    /// Pieces of the text that are beyond the parser.
    pub(crate) left_out: Vec<Range<usize>>,
    typedefs: HashMap<String, Type>,
    enumerations: HashMap<String, Rc<Enumeration>>,
    constants: HashMap<String, i128>,
    anonymous: usize,
}

/// The declaration of a function.
#[derive(Debug, Clone)]
pub(crate) struct Prototype {
    pub(crate) name: String,
    /// The symbol, where an `asm` label names another one.
    pub(crate) symbol: String,
    pub(crate) signature: Signature,
    /// Whether it is `static` or has a body here: nothing that a library must export.
    pub(crate) is_local: bool,
    /// Where it stands in the preprocessed text.
    pub(crate) span: Range<usize>,
}

/// The declaration of a variable.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) kind: Type,
    /// Where it stands in the preprocessed text.
    pub(crate) span: Range<usize>,
}

impl Declarations {
    /// Reads preprocessed text, without the declarations that are beyond the parser.
    pub(crate) fn read(text: &str) -> Result<Self, lang_c::driver::SyntaxError> {
        let mut declarations = Self::default();
        let statements = statements(text);
        let mut source = text.to_owned();
        for (range, depth) in &statements {
            if *depth > DEEPEST {
                blank(&mut source, range.clone());
                declarations.left_out.push(range.clone());
            }
        }
        let config = Config::default();
        let unit = loop {
            match parse_preprocessed(&config, source) {
                Ok(parse) => break parse.unit,
                Err(error) if declarations.left_out.len() >= MOST_FAULTS => return Err(error),
                Err(error) => {
                    let index = statements.partition_point(|(range, _)| range.end <= error.offset);
                    // At the end of a statement, what is missing is in the one before.
                    let Some(range) = statements.get(index).map(|(range, _)| range.clone()) else { return Err(error) };
                    if declarations.left_out.contains(&range) {
                        return Err(error);
                    }
                    source = error.source;
                    blank(&mut source, range.clone());
                    declarations.left_out.push(range);
                }
            }
        };
        for item in &unit.0 {
            match &item.node {
                ExternalDeclaration::Declaration(declaration) => declarations.declaration(declaration),
                ExternalDeclaration::FunctionDefinition(function) => {
                    let base = declarations.base(specifiers(&function.node.specifiers));
                    let (name, kind) = declarations.declarator(base, &function.node.declarator.node);
                    declarations.prototype(name, kind, true, None, item.span.start..item.span.end);
                }
                ExternalDeclaration::StaticAssert(_) => {}
            }
        }
        Ok(declarations)
    }

    /// The value of a name in an enumeration.
    pub(crate) fn constant_named(&self, name: &str) -> Option<i128> {
        self.constants.get(name).copied()
    }

    fn declaration(&mut self, declaration: &Node<Declaration>) {
        let node = &declaration.node;
        let storage = |wanted: &StorageClassSpecifier| {
            node.specifiers.iter().any(|specifier| match &specifier.node {
                DeclarationSpecifier::StorageClass(class) => class.node == *wanted,
                _ => false,
            })
        };
        let base = self.base(specifiers(&node.specifiers));
        for init in &node.declarators {
            let declarator = &init.node.declarator.node;
            let (name, kind) = self.declarator(base.clone(), declarator);
            if storage(&StorageClassSpecifier::Typedef) {
                let Some(name) = name else { continue };
                // A struct without a tag is known by the first name that it gets.
                if let TypeKind::Record(key) = &kind.kind
                    && let Some(record) = self.records.get_mut(key)
                    && (record.name.is_empty()
                        || record.name.starts_with("struct ")
                        || record.name.starts_with("union "))
                {
                    record.name.clone_from(&name);
                }
                self.typedefs.insert(name, kind);
                continue;
            }
            let label = declarator.extensions.iter().find_map(|extension| match &extension.node {
                Extension::AsmLabel(label) => Some(label.node.concat().replace('"', "")),
                _ => None,
            });
            let is_local = storage(&StorageClassSpecifier::Static);
            self.prototype(name, kind, is_local, label, declaration.span.start..declaration.span.end);
        }
    }

    fn prototype(
        &mut self,
        name: Option<String>,
        kind: Type,
        is_local: bool,
        label: Option<String>,
        span: Range<usize>,
    ) {
        let Some(name) = name else { return };
        let resolved = kind.resolved().kind;
        let TypeKind::Function(signature) = &resolved else {
            if !is_local {
                self.variables.push(Variable { name, kind, span });
            }
            return;
        };
        let symbol = label.unwrap_or_else(|| name.clone());
        self.prototypes.push(Prototype { symbol, name, signature: (**signature).clone(), is_local, span });
    }

    /// The type that specifiers name.
    fn base<'a>(&mut self, specifiers: impl Iterator<Item = Specifier<'a>>) -> Type {
        let mut is_const = false;
        let (mut long, mut short, mut unsigned, mut signed, mut complex) = (0, false, false, false, false);
        let mut word = None;
        let mut named: Option<Type> = None;
        for specifier in specifiers {
            let kind = match specifier {
                Specifier::Qualifier(qualifier) => {
                    is_const |= *qualifier == TypeQualifier::Const;
                    continue;
                }
                Specifier::Type(kind) => kind,
            };
            match kind {
                TypeSpecifier::Long => long += 1,
                TypeSpecifier::Short => short = true,
                TypeSpecifier::Unsigned => unsigned = true,
                TypeSpecifier::Signed => signed = true,
                TypeSpecifier::Complex => complex = true,
                TypeSpecifier::Void
                | TypeSpecifier::Char
                | TypeSpecifier::Int
                | TypeSpecifier::Float
                | TypeSpecifier::Double
                | TypeSpecifier::Bool => {
                    word = Some(kind);
                }
                TypeSpecifier::Atomic(name) => named = Some(self.type_name(&name.node)),
                TypeSpecifier::Struct(record) => named = Some(self.record(&record.node)),
                TypeSpecifier::Enum(enumeration) => named = Some(self.enumeration(&enumeration.node)),
                TypeSpecifier::TypedefName(name) => named = Some(self.typedef(&name.node.name)),
                TypeSpecifier::TypeOf(of) => {
                    named = Some(match &of.node {
                        TypeOf::Type(name) => self.type_name(&name.node),
                        TypeOf::Expression(_) => TypeKind::Other("typeof (…)".to_owned()).into(),
                    });
                }
                TypeSpecifier::TS18661Float(float) => {
                    use TS18661FloatFormat::{BinaryExtended, BinaryInterchange};
                    // The narrow ones are other names for the types that every machine has.
                    named = Some(match (&float.format, float.width) {
                        (BinaryInterchange, 32) => TypeKind::Scalar(CTypeName::Float).into(),
                        (BinaryInterchange, 64) | (BinaryExtended, 32) => TypeKind::Scalar(CTypeName::Double).into(),
                        (BinaryInterchange, width) => TypeKind::Other(format!("_Float{width}")).into(),
                        (BinaryExtended, width) => TypeKind::Other(format!("_Float{width}x")).into(),
                        (_, width) => TypeKind::Other(format!("_Decimal{width}")).into(),
                    });
                }
            }
        }
        let mut base = named.unwrap_or_else(|| {
            let kind = match (word, long, unsigned) {
                _ if complex => TypeKind::Other("complex number".to_owned()),
                (Some(TypeSpecifier::Void), ..) => TypeKind::Void,
                (Some(TypeSpecifier::Bool), ..) => TypeKind::Scalar(CTypeName::Bool),
                (Some(TypeSpecifier::Float), ..) => TypeKind::Scalar(CTypeName::Float),
                (Some(TypeSpecifier::Double), 0, _) => TypeKind::Scalar(CTypeName::Double),
                (Some(TypeSpecifier::Double), ..) => TypeKind::Other("long double".to_owned()),
                (Some(TypeSpecifier::Char), _, true) => TypeKind::Scalar(CTypeName::UnsignedChar),
                (Some(TypeSpecifier::Char), ..) if signed => TypeKind::SignedChar,
                (Some(TypeSpecifier::Char), ..) => TypeKind::Scalar(CTypeName::Char),
                (_, 0, true) if short => TypeKind::Scalar(CTypeName::UnsignedShort),
                (_, 0, false) if short => TypeKind::Scalar(CTypeName::Short),
                (_, 0, true) => TypeKind::Scalar(CTypeName::UnsignedInt),
                (_, 0, false) => TypeKind::Scalar(CTypeName::Int),
                (_, 1, true) => TypeKind::Scalar(CTypeName::UnsignedLong),
                (_, 1, false) => TypeKind::Scalar(CTypeName::Long),
                (_, _, true) => TypeKind::Scalar(CTypeName::UnsignedLongLong),
                (_, _, false) => TypeKind::Scalar(CTypeName::LongLong),
            };
            kind.into()
        });
        base.is_const |= is_const;
        base
    }

    fn typedef(&self, name: &str) -> Type {
        match self.typedefs.get(name) {
            Some(target) => TypeKind::Alias(name.into(), Rc::new(target.clone())).into(),
            None if matches!(name, "__builtin_va_list" | "va_list") => TypeKind::VaList.into(),
            None => TypeKind::Other(name.to_owned()).into(),
        }
    }

    fn type_name(&mut self, name: &TypeName) -> Type {
        let base = self.base(name.specifiers.iter().filter_map(|node| match &node.node {
            SpecifierQualifier::TypeSpecifier(kind) => Some(Specifier::Type(&kind.node)),
            SpecifierQualifier::TypeQualifier(qualifier) => Some(Specifier::Qualifier(&qualifier.node)),
            SpecifierQualifier::Extension(_) => None,
        }));
        match &name.declarator {
            Some(declarator) => self.declarator(base, &declarator.node).1,
            None => base,
        }
    }

    fn record(&mut self, record: &StructType) -> Type {
        let is_union = record.kind.node == StructKind::Union;
        let word = if is_union { "union" } else { "struct" };
        let key: Rc<str> = match &record.identifier {
            Some(tag) => format!("{word} {}", tag.node.name).into(),
            None => {
                self.anonymous += 1;
                format!("{word} #{}", self.anonymous).into()
            }
        };
        let name = if record.identifier.is_some() { key.to_string() } else { String::new() };
        self.records.entry(key.clone()).or_insert(Record { name, is_union, fields: None });
        if let Some(declarations) = &record.declarations {
            let mut fields = Vec::new();
            for declaration in declarations {
                let StructDeclaration::Field(field) = &declaration.node else { continue };
                let base = self.base(field.node.specifiers.iter().filter_map(|node| match &node.node {
                    SpecifierQualifier::TypeSpecifier(kind) => Some(Specifier::Type(&kind.node)),
                    SpecifierQualifier::TypeQualifier(qualifier) => Some(Specifier::Qualifier(&qualifier.node)),
                    SpecifierQualifier::Extension(_) => None,
                }));
                if field.node.declarators.is_empty() {
                    fields.push(Field { name: String::new(), kind: base.clone(), bits: None });
                }
                for declarator in &field.node.declarators {
                    let width = declarator.node.bit_width.as_ref();
                    // A width that is not understood counts as one, and the compiler finds that the sizes differ.
                    let bits = width
                        .map(|width| self.constant(&width.node).and_then(|bits| bits.try_into().ok()).unwrap_or(1));
                    let (name, kind) = match &declarator.node.declarator {
                        Some(declarator) => self.declarator(base.clone(), &declarator.node),
                        None => (None, base.clone()),
                    };
                    fields.push(Field { name: name.unwrap_or_default(), kind, bits });
                }
            }
            if let Some(record) = self.records.get_mut(&key) {
                record.fields = Some(fields);
            }
        }
        TypeKind::Record(key).into()
    }

    fn enumeration(&mut self, node: &EnumType) -> Type {
        let tag = node.identifier.as_ref().map(|tag| tag.node.name.clone());
        if let (true, Some(tag)) = (node.enumerators.is_empty(), &tag) {
            let empty = || Rc::new(Enumeration { tag: Some(tag.clone()), values: Vec::new() });
            return TypeKind::Enum(self.enumerations.get(tag).cloned().unwrap_or_else(empty)).into();
        }
        let mut next = Some(0_i128);
        let mut values = Vec::new();
        for enumerator in &node.enumerators {
            let name = enumerator.node.identifier.node.name.clone();
            let value = match &enumerator.node.expression {
                Some(expression) => self.constant(&expression.node),
                None => next,
            };
            if let Some(value) = value {
                self.constants.insert(name.clone(), value);
            }
            next = value.and_then(|value| value.checked_add(1));
            values.push((name, value));
        }
        let enumeration = Rc::new(Enumeration { tag: tag.clone(), values });
        if let Some(tag) = tag {
            self.enumerations.insert(tag, enumeration.clone());
        }
        TypeKind::Enum(enumeration).into()
    }

    /// Applies what stands around a name to the type before it.
    fn declarator(&mut self, base: Type, declarator: &Declarator) -> (Option<String>, Type) {
        let mut kind = base;
        let is_prefix = |derived: &&Node<DerivedDeclarator>| {
            matches!(derived.node, DerivedDeclarator::Pointer(_) | DerivedDeclarator::Block(_))
        };
        for derived in declarator.derived.iter().filter(is_prefix) {
            let (DerivedDeclarator::Pointer(qualifiers) | DerivedDeclarator::Block(qualifiers)) = &derived.node else {
                continue;
            };
            let is_const = qualifiers.iter().any(|qualifier| match &qualifier.node {
                PointerQualifier::TypeQualifier(qualifier) => qualifier.node == TypeQualifier::Const,
                PointerQualifier::Extension(_) => false,
            });
            kind = Type { kind: TypeKind::Pointer(Rc::new(kind)), is_const };
        }
        // The suffix that stands nearest to the name is the outermost type.
        for derived in declarator.derived.iter().filter(|derived| !is_prefix(derived)).rev() {
            kind = match &derived.node {
                DerivedDeclarator::Array(array) => {
                    let length = match &array.node.size {
                        ArraySize::VariableExpression(length) | ArraySize::StaticExpression(length) => {
                            self.constant(&length.node).and_then(|length| u64::try_from(length).ok())
                        }
                        ArraySize::Unknown | ArraySize::VariableUnknown => None,
                    };
                    TypeKind::Array(Rc::new(kind), length).into()
                }
                DerivedDeclarator::Function(function) => self.function(kind, &function.node),
                DerivedDeclarator::KRFunction(names) => {
                    let parameters = names
                        .iter()
                        .map(|name| (Some(name.node.name.clone()), TypeKind::Scalar(CTypeName::Int).into()));
                    let parameters: Vec<_> = parameters.collect();
                    let signature = Signature { returns: kind, parameters, is_variadic: false, is_unspecified: true };
                    TypeKind::Function(Rc::new(signature)).into()
                }
                DerivedDeclarator::Pointer(_) | DerivedDeclarator::Block(_) => kind,
            };
        }
        match &declarator.kind.node {
            DeclaratorKind::Abstract => (None, kind),
            DeclaratorKind::Identifier(name) => (Some(name.node.name.clone()), kind),
            DeclaratorKind::Declarator(inner) => self.declarator(kind, &inner.node),
        }
    }

    fn function(&mut self, returns: Type, function: &FunctionDeclarator) -> Type {
        let mut parameters = Vec::new();
        for parameter in &function.parameters {
            let base = self.base(specifiers(&parameter.node.specifiers));
            parameters.push(match &parameter.node.declarator {
                Some(declarator) => self.declarator(base, &declarator.node),
                None => (None, base),
            });
        }
        let is_unspecified = parameters.is_empty();
        if let [(None, only)] = parameters.as_slice()
            && only.is_void()
        {
            parameters.clear();
        }
        let is_variadic = function.ellipsis == Ellipsis::Some;
        TypeKind::Function(Rc::new(Signature { returns, parameters, is_variadic, is_unspecified })).into()
    }

    /// The value of an expression, where it is a plain one.
    fn constant(&self, expression: &Expression) -> Option<i128> {
        match expression {
            Expression::Constant(constant) => match &constant.node {
                Constant::Integer(integer) => {
                    let radix = match integer.base {
                        IntegerBase::Decimal => 10,
                        IntegerBase::Octal => 8,
                        IntegerBase::Hexadecimal => 16,
                        IntegerBase::Binary => 2,
                    };
                    i128::from_str_radix(&integer.number, radix).ok()
                }
                Constant::Character(text) => match text.trim_matches('\'').chars().collect::<Vec<_>>().as_slice() {
                    [char] if char.is_ascii() => Some(i128::from(u32::from(*char))),
                    _ => None,
                },
                Constant::Float(_) => None,
            },
            Expression::Identifier(name) => self.constants.get(&name.node.name).copied(),
            Expression::UnaryOperator(unary) => {
                let operand = self.constant(&unary.node.operand.node)?;
                match unary.node.operator.node {
                    UnaryOperator::Plus => Some(operand),
                    UnaryOperator::Minus => operand.checked_neg(),
                    UnaryOperator::Complement => Some(!operand),
                    _ => None,
                }
            }
            Expression::BinaryOperator(binary) => {
                let (left, right) = (self.constant(&binary.node.lhs.node)?, self.constant(&binary.node.rhs.node)?);
                match binary.node.operator.node {
                    BinaryOperator::Plus => left.checked_add(right),
                    BinaryOperator::Minus => left.checked_sub(right),
                    BinaryOperator::Multiply => left.checked_mul(right),
                    BinaryOperator::Divide => left.checked_div(right),
                    BinaryOperator::ShiftLeft => left.checked_shl(u32::try_from(right).ok()?),
                    BinaryOperator::ShiftRight => left.checked_shr(u32::try_from(right).ok()?),
                    BinaryOperator::BitwiseAnd => Some(left & right),
                    BinaryOperator::BitwiseOr => Some(left | right),
                    BinaryOperator::BitwiseXor => Some(left ^ right),
                    _ => None,
                }
            }
            Expression::Cast(cast) => self.constant(&cast.node.expression.node),
            _ => None,
        }
    }
}

/// What names a type, or says something about it.
enum Specifier<'a> {
    Type(&'a TypeSpecifier),
    Qualifier(&'a TypeQualifier),
}

fn specifiers(nodes: &[Node<DeclarationSpecifier>]) -> impl Iterator<Item = Specifier<'_>> {
    nodes.iter().filter_map(|node| match &node.node {
        DeclarationSpecifier::TypeSpecifier(kind) => Some(Specifier::Type(&kind.node)),
        DeclarationSpecifier::TypeQualifier(qualifier) => Some(Specifier::Qualifier(&qualifier.node)),
        _ => None,
    })
}
