//! Computes the maximum cost of an expression before evaluation: the iterations of comprehensions,
//! and the sizes of copied and created values.
//!
//! The sizes are the sizes of the actual values, so a short list is always cheap. One unit of cost
//! is about one visited or copied value, or 16 bytes of text.

use std::sync::Arc;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, LiteralValue};

use super::calls::called;
use super::size::Size;

/// A variable in scope, with the size of its value.
pub(super) struct Scope<'s> {
    pub(super) name: &'s str,
    pub(super) size: Arc<Size>,
    pub(super) outer: Option<&'s Self>,
}

/// The maximum cost of an expression, and the maximum size of its result.
pub(super) struct Bound {
    pub(super) cost: u64,
    pub(super) size: Arc<Size>,
}

impl Bound {
    pub(super) fn new(cost: u64, size: Size) -> Self {
        Self {
            cost: cost.saturating_add(1),
            size: Arc::new(size),
        }
    }

    pub(super) fn weight(&self) -> u64 {
        self.size.weight
    }
}

/// Computes the maximum cost and result size of an expression from the variables in scope.
pub(super) fn bound(expr: &IdedExpr, scope: Option<&Scope<'_>>) -> Bound {
    match &expr.expr {
        Expr::Literal(LiteralValue::String(text)) => {
            Bound::new(0, Size::text(text.inner().len() as u64))
        }
        Expr::Literal(LiteralValue::Bytes(bytes)) => {
            Bound::new(0, Size::text(bytes.inner().len() as u64))
        }
        // The evaluator has no structs; compilation rejects them.
        Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => Bound::new(0, Size::scalar()),
        Expr::Ident(name) => Bound {
            cost: 1,
            size: variable(name, scope),
        },
        Expr::Select(select) => {
            let whole = bound(&select.operand, scope);
            if select.test {
                return Bound::new(whole.cost, Size::scalar());
            }
            copied(whole.cost, whole.size.field(&select.field))
        }
        Expr::Call(call) => called(call, scope),
        Expr::List(list) => collection(list.elements.iter(), scope),
        Expr::Map(map) => {
            let inside = map.entries.iter().flat_map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => [Some(&entry.key), Some(&entry.value)],
                EntryExpr::StructField(field) => [Some(&field.value), None],
            });
            collection(inside.flatten(), scope)
        }
        Expr::Comprehension(turns) => comprehension(turns, scope),
    }
}

fn variable(name: &str, scope: Option<&Scope<'_>>) -> Arc<Size> {
    let mut scope = scope;
    while let Some(here) = scope {
        if here.name == name {
            return Arc::clone(&here.size);
        }
        scope = here.outer;
    }
    Arc::new(Size::scalar())
}

/// Returns the maximum cost and result size of copying a value.
pub(super) fn copied(cost: u64, size: Arc<Size>) -> Bound {
    Bound {
        cost: cost.saturating_add(1).saturating_add(size.weight),
        size,
    }
}

fn collection<'e>(inside: impl Iterator<Item = &'e IdedExpr>, scope: Option<&Scope<'_>>) -> Bound {
    let mut size = Size::list();
    let mut cost = 0_u64;
    for element in inside {
        let element = bound(element, scope);
        cost = cost
            .saturating_add(element.cost)
            .saturating_add(element.weight());
        size.push(&element.size);
    }
    Bound::new(cost, size)
}

fn comprehension(turns: &ComprehensionExpr, scope: Option<&Scope<'_>>) -> Bound {
    let range = bound(&turns.iter_range, scope);
    let init = bound(&turns.accu_init, scope);
    let (count, item) = (range.size.count, range.size.turned());
    let accumulator = Scope {
        name: &turns.accu_var,
        size: Arc::clone(&init.size),
        outer: scope,
    };
    let inner = Scope {
        name: &turns.iter_var,
        size: Arc::clone(&item),
        outer: Some(&accumulator),
    };
    let (goes_on, step) = (
        bound(&turns.loop_cond, Some(&inner)),
        bound(&turns.loop_step, Some(&inner)),
    );
    // Each iteration copies what earlier iterations have added.
    let added = step.weight().saturating_sub(init.weight());
    let copies = count.saturating_mul(count).saturating_mul(added);
    let turn = goes_on
        .cost
        .saturating_add(step.cost)
        .saturating_add(item.weight);
    let result = Scope {
        name: &turns.accu_var,
        size: Arc::new(step.size.grown_from(&init.size, count)),
        outer: scope,
    };
    let result = bound(&turns.result, Some(&result));
    let cost = [range.cost, init.cost, copies, result.cost]
        .into_iter()
        .fold(turn.saturating_mul(count), u64::saturating_add);
    copied(cost, result.size)
}

/// Returns the nesting depth of comprehensions in the expression.
pub(super) fn nesting(expr: &IdedExpr) -> u32 {
    let mut deepest = 0;
    each(expr, &mut |inner| deepest = deepest.max(nesting(inner)));
    if let Expr::Comprehension(turns) = &expr.expr {
        let inside = nesting(&turns.loop_step).max(nesting(&turns.loop_cond));
        return deepest.max(inside + 1);
    }
    deepest
}

/// Calls `see` for each direct subexpression.
pub(super) fn each<'e>(expr: &'e IdedExpr, see: &mut dyn FnMut(&'e IdedExpr)) {
    match &expr.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        Expr::Select(select) => see(&select.operand),
        Expr::Call(call) => call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .for_each(see),
        Expr::List(list) => list.elements.iter().for_each(see),
        Expr::Map(map) => map
            .entries
            .iter()
            .for_each(|entry| entries(&entry.expr, see)),
        Expr::Struct(fields) => fields
            .entries
            .iter()
            .for_each(|entry| entries(&entry.expr, see)),
        Expr::Comprehension(turns) => {
            for part in [
                &turns.iter_range,
                &turns.accu_init,
                &turns.loop_cond,
                &turns.loop_step,
                &turns.result,
            ] {
                see(part);
            }
        }
    }
}

fn entries<'e>(entry: &'e EntryExpr, see: &mut dyn FnMut(&'e IdedExpr)) {
    match entry {
        EntryExpr::MapEntry(entry) => {
            see(&entry.key);
            see(&entry.value);
        }
        EntryExpr::StructField(field) => see(&field.value),
    }
}
