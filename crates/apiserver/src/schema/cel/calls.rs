//! Maximum cost and result size of CEL operators and functions.

use std::sync::Arc;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, Expr, LiteralValue, operators};

use super::cost::{Bound, Scope, bound, copied};
use super::functions::MAX_RANGE;
use super::size::Size;

/// Maximum sum of durations, in years. The result of adding a larger sum to a time is outside of
/// the range of times.
const MAX_YEARS: u64 = 200_000;
/// The number of years in the range of times: years 1 to 9999.
const YEARS_OF_TIMES: u64 = 10_000;
/// The cost of compiling a pattern that is not a literal.
const COMPILATION_COST: u64 = 20_000;
/// Maximum number of comparisons per sorted item: the number of bits of a list length.
const COMPARISONS_PER_ITEM: u64 = 24;

pub(super) fn called(call: &CallExpr, scope: Option<&Scope<'_>>) -> Bound {
    let target = call.target.as_deref();
    let name = match target.map(|target| &target.expr) {
        Some(Expr::Ident(prefix)) if prefix == "lists" && call.func_name == "range" => {
            return range(call, scope);
        }
        _ => call.func_name.as_str(),
    };
    let operands = Operands::of(call, scope);
    match name {
        operators::ADD | operators::SUBSTRACT => operands.sum(name),
        operators::CONDITIONAL => Bound {
            cost: operands.cost.saturating_add(1),
            size: operands.either(1),
        },
        operators::LOGICAL_AND
        | operators::LOGICAL_OR
        | operators::LOGICAL_NOT
        | operators::NOT_STRICTLY_FALSE => Bound::new(operands.cost, Size::scalar()),
        operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT => {
            let size = operands.given.first().map(|whole| match call.args.get(1) {
                Some(IdedExpr {
                    expr: Expr::Literal(LiteralValue::String(name)),
                    ..
                }) => whole.size.field(name.inner()),
                _ => whole.size.item(),
            });
            copied(
                operands.cost.saturating_add(operands.weight),
                size.unwrap_or_default(),
            )
        }
        "matches" | "find" | "findAll" => operands.matching(call.args.first()),
        name => operands.function(name),
    }
}

/// Returns the maximum cost and result size of `lists.range`.
fn range(call: &CallExpr, scope: Option<&Scope<'_>>) -> Bound {
    let count = match call.args.first().map(|count| &count.expr) {
        Some(Expr::Literal(LiteralValue::Int(count))) => u64::try_from(*count.inner()).unwrap_or(0),
        _ => MAX_RANGE,
    };
    let count = count.min(MAX_RANGE);
    let cost = call
        .args
        .iter()
        .map(|operands| bound(operands, scope).cost)
        .fold(count, u64::saturating_add);
    Bound::new(cost, Size::numbers(count))
}

/// The maximum cost and size of a call's target and arguments.
struct Operands {
    cost: u64,
    weight: u64,
    /// The maximum cost and size of the target and of each argument, in this order.
    given: Vec<Bound>,
}

impl Operands {
    fn of(call: &CallExpr, scope: Option<&Scope<'_>>) -> Self {
        let operands = call.target.as_deref().into_iter().chain(&call.args);
        let operands: Vec<Bound> = operands.map(|operands| bound(operands, scope)).collect();
        let sum = |of: fn(&Bound) -> u64| operands.iter().map(of).fold(0, u64::saturating_add);
        Self {
            cost: sum(|operands| operands.cost),
            weight: sum(Bound::weight),
            given: operands,
        }
    }

    fn size(&self, at: usize) -> Arc<Size> {
        self.given
            .get(at)
            .map(|operands| Arc::clone(&operands.size))
            .unwrap_or_default()
    }

    /// Returns the maximum size of the operands from index `first` on.
    fn either(&self, first: usize) -> Arc<Size> {
        let mut size = (*self.size(first)).clone();
        for other in self.given.iter().skip(first + 1) {
            size.absorb(&other.size);
        }
        Arc::new(size)
    }

    fn sum(&self, name: &str) -> Bound {
        let (left, right) = (self.size(0), self.size(1));
        let mut sum = left.plus(&right);
        if name == operators::SUBSTRACT && left.timed && right.timed {
            sum.years = sum.years.max(YEARS_OF_TIMES);
        }
        let cost = if sum.years > MAX_YEARS {
            u64::MAX
        } else {
            self.cost.saturating_add(self.weight)
        };
        Bound::new(cost, sum)
    }

    /// Returns the maximum cost and result size of matching a text against a pattern.
    fn matching(&self, pattern: Option<&IdedExpr>) -> Bound {
        let text = self.size(0);
        let (compiled, effort) = match pattern.map(|pattern| &pattern.expr) {
            Some(Expr::Literal(LiteralValue::String(pattern))) => (0, effort(pattern.inner())),
            _ => (COMPILATION_COST, self.size(1).count),
        };
        let cost = text
            .weight
            .saturating_mul(1 + effort / 64)
            .saturating_add(self.weight)
            .saturating_add(compiled);
        Bound::new(self.cost.saturating_add(cost), text.split())
    }

    fn function(&self, name: &str) -> Bound {
        let (first, second) = (self.size(0), self.size(1));
        // Arguments are copied before the call.
        let plain = self.cost.saturating_add(self.weight.saturating_mul(4));
        let product = |one: u64, other: u64| plain.saturating_add(one.saturating_mul(other));
        match name {
            "size" | "contains" | "startsWith" | "endsWith" | "int" | "uint" | "double"
            | "hasValue" | "compareTo" | "isSorted" => Bound::new(plain, Size::scalar()),
            "indexOf" | "lastIndexOf" => {
                Bound::new(product(first.count, second.weight), Size::scalar())
            }
            "sets.contains" | "sets.equivalent" | "sets.intersects" | "equivalent"
            | "intersects" => Bound::new(product(self.weight, self.weight), Size::scalar()),
            "distinct" => copied(product(first.count, first.weight), first),
            "sort" => copied(product(COMPARISONS_PER_ITEM, first.weight), first),
            "reverse" | "slice" => copied(plain, first),
            "of" | "ofNonZeroValue" | "value" | "or" | "orValue" => copied(plain, self.either(0)),
            "first" | "last" => copied(plain, first.item()),
            "split" | "replace" | "join" => self.text(name, plain),
            "duration" => {
                let mut size = Size::scalar();
                // int64 nanoseconds hold at most 300 years.
                size.years = 300;
                Bound::new(plain, size)
            }
            "timestamp" => {
                let mut size = Size::scalar();
                size.timed = true;
                Bound::new(plain, size)
            }
            _ => {
                let mut size = Size::opaque(self.weight.saturating_mul(4).saturating_add(64));
                for operands in &self.given {
                    size.years = size.years.max(operands.size.years);
                    size.timed |= operands.size.timed;
                }
                Bound::new(plain.saturating_add(size.weight), size)
            }
        }
    }

    /// Returns the maximum cost and result size of functions that convert text to text. `plain` is
    /// the cost of evaluating and copying the operands.
    fn text(&self, name: &str, plain: u64) -> Bound {
        let (first, second) = (self.size(0), self.size(1));
        let bytes = match name {
            "split" => return Bound::new(plain.saturating_add(first.count), first.split()),
            "replace" => {
                let put = self.size(2).count.max(1).saturating_mul(first.count + 1);
                first.count.saturating_add(put)
            }
            // Other items are converted to text.
            _ => {
                let put = second.count.saturating_mul(first.count);
                first.weight.saturating_mul(64).saturating_add(put)
            }
        };
        let size = Size::text(bytes);
        Bound::new(plain.saturating_add(size.weight), size)
    }
}

/// Returns the maximum size of the compiled pattern. Nested repetitions multiply the size.
fn effort(pattern: &str) -> u64 {
    let mut effort = pattern.len() as u64;
    for (at, _) in pattern.match_indices('{') {
        let most = pattern[at + 1..]
            .split('}')
            .next()
            .and_then(|bounds| bounds.rsplit(',').next()?.trim().parse::<u64>().ok());
        effort = effort.saturating_mul(most.unwrap_or(1).max(1));
    }
    effort
}
