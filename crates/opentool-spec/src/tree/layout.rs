//! New values, laid out as the author lays out theirs.

use super::node::{Kind, NodeId, Tree};
use crate::json::quoted;

/// A value that takes the place of another, made of new parts and of parts of the text.
#[derive(Debug, Clone)]
pub(crate) enum NewValue {
    /// JSON text on one line.
    Text(String),
    /// A value of the tree.
    Node(NodeId),
    /// An object; `lines` where each member stands on a line of its own.
    Object { members: Vec<(String, NewValue)>, lines: bool },
    /// An array; `lines` where each element stands on a line of its own.
    Array { elements: Vec<NewValue>, lines: bool },
}

impl Tree<'_> {
    /// Whether the first child of a container begins a line of its own.
    pub(crate) fn has_lines(&self, node: NodeId) -> bool {
        let (start, _) = self.span(node);
        let first = self.children(node).next();
        first.is_some_and(|first| self.source()[start..self.key_span(first).0].contains('\n'))
    }

    /// Writes a value that takes the place of `node`.
    pub(crate) fn lay_out(&self, node: NodeId, value: &NewValue) -> String {
        let source = self.source();
        let (start, _) = self.key_span(node);
        let line = source[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let lead: String = source[line..].chars().take_while(|char| matches!(char, ' ' | '\t')).collect();
        let line_break = if source[..line].ends_with("\r\n") { "\r\n" } else { "\n" };
        let mut writer =
            Writer { tree: self, line: format!("{line_break}{lead}"), step: self.indent_step(), out: String::new() };
        writer.value(value, 0);
        writer.out
    }

    /// How the author indents: the difference between the root and its first member.
    fn indent_step(&self) -> &str {
        let first = self.children(Tree::ROOT).next().map(|member| self.key_span(member).0);
        let lead = first.and_then(|at| {
            let before = &self.source()[..at];
            let lead = before.rfind('\n').map(|newline| &before[newline + 1..])?;
            lead.chars().all(|char| matches!(char, ' ' | '\t')).then_some(lead)
        });
        lead.filter(|lead| !lead.is_empty()).unwrap_or("  ")
    }

    /// The text of a value on one line.
    pub(crate) fn inline(&self, node: NodeId) -> String {
        let mut writer = Writer { tree: self, line: String::new(), step: "", out: String::new() };
        writer.node(node, 0, false);
        writer.out
    }
}

struct Writer<'t, 'a> {
    tree: &'t Tree<'a>,
    /// A line break and the indentation of the value as a whole.
    line: String,
    step: &'t str,
    out: String,
}

impl Writer<'_, '_> {
    fn value(&mut self, value: &NewValue, depth: usize) {
        match value {
            NewValue::Text(text) => self.out.push_str(text),
            NewValue::Node(node) => self.node(*node, depth, true),
            NewValue::Object { members, lines } => {
                self.container(['{', '}'], *lines, depth, members, |writer, (key, value), depth| {
                    writer.out.push_str(&quoted(key));
                    writer.out.push_str(": ");
                    writer.value(value, depth);
                });
            }
            NewValue::Array { elements, lines } => {
                self.container(['[', ']'], *lines, depth, elements, |writer, value, depth| writer.value(value, depth));
            }
        }
    }

    /// A value of the tree, on lines of its own where it was so and that is wanted.
    fn node(&mut self, node: NodeId, depth: usize, lines: bool) {
        let tree = self.tree;
        let kind = tree.kind(node);
        if !kind.is_container() {
            self.out.push_str(tree.raw(node));
            return;
        }
        let object = kind == Kind::Object;
        let brackets = if object { ['{', '}'] } else { ['[', ']'] };
        let own_lines = lines && tree.has_lines(node);
        self.container(brackets, own_lines, depth, tree.children(node), |writer, child, depth| {
            if object {
                let (start, end) = tree.key_span(child);
                writer.out.push_str(&tree.source()[start..end]);
                writer.out.push_str(": ");
            }
            writer.node(child, depth, lines);
        });
    }

    fn container<T>(
        &mut self,
        [open, close]: [char; 2],
        lines: bool,
        depth: usize,
        children: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T, usize),
    ) {
        self.out.push(open);
        let mut empty = true;
        for child in children {
            if !empty {
                self.out.push_str(if lines { "," } else { ", " });
            }
            empty = false;
            if lines {
                self.new_line(depth + 1);
            }
            // What is not on a line of its own has its indentation from the line it is on.
            write(self, child, if lines { depth + 1 } else { depth });
        }
        if lines && !empty {
            self.new_line(depth);
        }
        self.out.push(close);
    }

    fn new_line(&mut self, depth: usize) {
        self.out.push_str(&self.line);
        for _ in 0..depth {
            self.out.push_str(self.step);
        }
    }
}
