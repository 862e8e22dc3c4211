//! Expressions, compiled and found harmless to evaluate.

use std::thread;

use kube_cel::cel::common::ast::Expr;
use kube_cel::cel::{IdedExpr, Program};

use super::cost::{each, nesting};
use super::types::{self, Names, Type};
use crate::schema::Node;

/// The longest expression, in bytes.
const LONGEST: usize = 16 * 1024;
/// How deep an expression may be.
const DEEPEST: usize = 100;
/// Expressions up to this depth are evaluated on the stack that is there.
const SHALLOW: usize = 8;
/// The parser is no deeper than that in an expression this short.
const SHORT: usize = 24;
/// What a level of the parser and of the evaluator can take of a stack, without optimisation.
const LEVEL: usize = 48 * 1024;
/// The parser's stack, beside what the expression's length asks for.
const PARSER: usize = 8 << 20;

/// An expression that can be evaluated.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(super) program: Program,
    /// How deep comprehensions are nested.
    pub(crate) nesting: u32,
    /// How deep it is.
    pub(super) depth: usize,
}

/// What an expression is to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gives {
    /// Whether a rule holds.
    Bool,
    /// What is said if it does not.
    Text,
}

impl Expression {
    /// Whether it can give that of values that this schema describes; `root`: of the object itself.
    ///
    /// # Errors
    /// What is wrong with it, whatever the object.
    pub(crate) fn check(
        &self,
        node: &Node,
        root: bool,
        optional_old: bool,
        gives: Gives,
    ) -> Result<(), String> {
        evaluate(self.depth, || {
            let own = Type::of(node, root);
            // It may not be there.
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
                .map_err(|why| format!("compilation failed: ERROR: {why}"))?;
            match gives {
                Gives::Bool if !is.is_bool() => {
                    Err("cel expression must evaluate to a bool".to_owned())
                }
                Gives::Text if !is.is_text() => {
                    Err("messageExpression must evaluate to a string".to_owned())
                }
                Gives::Bool | Gives::Text => Ok(()),
            }
        })?
    }
}

/// Compiles an expression; the error is what kube-apiserver would say of it.
pub(crate) fn compile(text: &str) -> Result<Expression, String> {
    let failed = |why: String| format!("compilation failed: {why}");
    if text.len() > LONGEST {
        return Err(failed(format!("expression is longer than {LONGEST} bytes")));
    }
    // The parser follows a chain of operators into the depth, and two bytes make a link of it.
    let stack = PARSER + text.len() * LEVEL / 2;
    let compiled = on_stack((text.len() > SHORT).then_some(stack), || {
        let program = Program::compile(text).map_err(|error| error.to_string())?;
        let depth = depth(program.expression(), DEEPEST)
            .ok_or_else(|| format!("expression is more than {DEEPEST} levels deep"))??;
        Ok(Expression {
            nesting: nesting(program.expression()),
            program,
            depth,
        })
    });
    compiled.and_then(|compiled| compiled).map_err(failed)
}

/// Runs something that may go as deep as these expressions.
pub(super) fn evaluate<T: Send>(
    deepest: usize,
    run: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    on_stack((deepest > SHALLOW).then_some(deepest * LEVEL * 2), run)
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

/// How deep an expression is, if not too deep; an error if it has what cannot be evaluated.
fn depth(expr: &IdedExpr, left: usize) -> Option<Result<usize, String>> {
    let left = left.checked_sub(1)?;
    if matches!(expr.expr, Expr::Struct(_) | Expr::Unspecified) {
        return Some(Err("messages cannot be made here".to_owned()));
    }
    let mut inside = Vec::new();
    each(expr, &mut |inner| inside.push(inner));
    let mut deepest = 0;
    for inner in inside {
        match depth(inner, left)? {
            Ok(depth) => deepest = deepest.max(depth),
            wrong => return Some(wrong),
        }
    }
    Some(Ok(deepest + 1))
}
