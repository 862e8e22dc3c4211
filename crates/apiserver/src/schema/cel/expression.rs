//! Compilation of CEL expressions, with limits that protect the stack.

use std::thread;

use kube_cel::cel::common::ast::Expr;
use kube_cel::cel::{IdedExpr, Program};

use super::cost::{each, nesting};
use super::types::{self, Names, Type};
use crate::schema::Node;

/// Maximum length of an expression, in bytes.
const MAX_BYTES: usize = 16 * 1024;
/// Maximum depth of an expression.
const MAX_DEPTH: usize = 100;
/// Maximum depth of an expression that the evaluator can evaluate on the current stack.
const INLINE_DEPTH: usize = 8;
/// Maximum length of an expression that the parser can parse on the current stack, in bytes.
const INLINE_BYTES: usize = 24;
/// Stack size that the parser or evaluator needs for each level of an expression, in bytes,
/// measured in debug builds.
const STACK_PER_LEVEL: usize = 48 * 1024;
/// Stack size that the parser needs for an empty expression, in bytes. Each byte of an expression
/// increases the required stack size.
const PARSER_STACK: usize = 8 << 20;

/// A compiled expression within the limits.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(super) program: Program,
    /// The nesting depth of comprehensions.
    pub(crate) nesting: u32,
    /// The depth of the expression's syntax tree.
    pub(super) depth: usize,
}

/// The type that the result of an expression must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultType {
    /// A boolean, which a rule returns.
    Bool,
    /// A string, which `messageExpression` returns.
    Text,
}

impl Expression {
    /// Type-checks the expression against a schema. `root` is true for the schema of the whole
    /// object.
    ///
    /// # Errors
    ///
    /// Returns the message of the type error.
    pub(crate) fn check(
        &self,
        node: &Node,
        root: bool,
        optional_old: bool,
        gives: ResultType,
    ) -> Result<(), String> {
        evaluate(self.depth, || {
            let own = Type::of(node, root);
            // `oldSelf` is absent on create.
            let old = if optional_old { Type::Any } else { own.clone() };
            let old = Names {
                name: "oldSelf",
                is: &old,
                outer: None,
            };
            let names = Names {
                name: "self",
                is: &own,
                outer: Some(&old),
            };
            let is = types::check(self.program.expression(), Some(&names))
                .map_err(|reason| format!("compilation failed: ERROR: {reason}"))?;
            match gives {
                ResultType::Bool if !is.is_bool() => {
                    Err("cel expression must evaluate to a bool".to_owned())
                }
                ResultType::Text if !is.is_text() => {
                    Err("messageExpression must evaluate to a string".to_owned())
                }
                ResultType::Bool | ResultType::Text => Ok(()),
            }
        })?
    }
}

/// Compiles an expression. The error is kube-apiserver's message.
pub(crate) fn compile(text: &str) -> Result<Expression, String> {
    let failed = |reason: String| format!("compilation failed: {reason}");
    if text.len() > MAX_BYTES {
        return Err(failed(format!(
            "expression is longer than {MAX_BYTES} bytes"
        )));
    }
    // The parser recurses once per operator, and an operator takes at least two bytes.
    let stack = PARSER_STACK + text.len() * STACK_PER_LEVEL / 2;
    let compiled = on_stack((text.len() > INLINE_BYTES).then_some(stack), || {
        let program = Program::compile(text).map_err(|error| error.to_string())?;
        let depth = depth(program.expression(), MAX_DEPTH)
            .ok_or_else(|| format!("expression is more than {MAX_DEPTH} levels deep"))??;
        Ok(Expression {
            nesting: nesting(program.expression()),
            program,
            depth,
        })
    });
    compiled.and_then(|compiled| compiled).map_err(failed)
}

/// Runs `f` with a stack that suffices for expressions of this depth.
pub(super) fn evaluate<T: Send>(
    deepest: usize,
    run: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    on_stack(
        (deepest > INLINE_DEPTH).then_some(deepest * STACK_PER_LEVEL * 2),
        run,
    )
}

fn on_stack<T: Send>(stack: Option<usize>, run: impl FnOnce() -> T + Send) -> Result<T, String> {
    let Some(stack) = stack else {
        return Ok(run());
    };
    thread::scope(|scope| {
        thread::Builder::new()
            .name("cel".to_owned())
            .stack_size(stack)
            .spawn_scoped(scope, run)
            .map_err(|error| format!("no thread for it: {error}"))?
            .join()
            .map_err(|_| "the evaluator failed".to_owned())
    })
}

/// Returns the depth of an expression. Returns `None` for a depth above `remaining`, and an error for
/// unsupported syntax.
fn depth(expr: &IdedExpr, remaining: usize) -> Option<Result<usize, String>> {
    let remaining = remaining.checked_sub(1)?;
    if matches!(expr.expr, Expr::Struct(_) | Expr::Unspecified) {
        return Some(Err("messages cannot be made here".to_owned()));
    }
    let mut inside = Vec::new();
    each(expr, &mut |inner| inside.push(inner));
    let mut deepest = 0;
    for inner in inside {
        match depth(inner, remaining)? {
            Ok(depth) => deepest = deepest.max(depth),
            wrong => return Some(wrong),
        }
    }
    Some(Ok(deepest + 1))
}
