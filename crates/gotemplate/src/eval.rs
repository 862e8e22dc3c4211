//! Evaluates a template.

use crate::ast::{Branch, Node, Pipe, ROOT, TemplateSet};
use crate::budget::{Budget, Limit, Limits};
use crate::error::{CallError, RenderError};
use crate::format;
use crate::value::Value;

mod terms;

/// Renders the root template of a set.
pub(crate) fn render(
    set: &TemplateSet,
    data: &serde_json::Value,
    limits: Limits,
) -> Result<String, RenderError> {
    let budget = Budget::new(limits);
    let mut evaluator = Evaluator {
        set,
        budget: &budget,
        limits,
        out: Vec::new(),
        variables: Vec::new(),
        line: 1,
        depth: 0,
    };
    let result = evaluator.root(data);
    let out = std::mem::take(&mut evaluator.out);
    let line = evaluator.line;
    match result {
        Ok(()) => String::from_utf8(out).map_err(|_| RenderError::NotUtf8),
        Err(CallError::Failed(reason)) => Err(RenderError::Failed { line, reason }),
        Err(CallError::Unavailable(function)) => Err(RenderError::Unavailable { line, function }),
        Err(CallError::Limit(limit)) => Err(RenderError::Limit { line, limit }),
    }
}

/// The effect of a node on the loop around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

struct Evaluator<'a> {
    set: &'a TemplateSet,
    budget: &'a Budget,
    limits: Limits,
    out: Vec<u8>,
    /// The variables of the current template. The last variable with a name is visible.
    variables: Vec<(&'a str, Value)>,
    /// The line of the current action.
    line: usize,
    depth: u32,
}

impl<'a> Evaluator<'a> {
    fn root(&mut self, data: &serde_json::Value) -> Result<(), CallError> {
        let data = Value::from_json(data, self.budget, 0)?;
        let set = self.set;
        let nodes = set.get(ROOT).map(Vec::as_slice).unwrap_or_default();
        self.variables.push(("$", data.clone()));
        self.nodes(nodes, &data).map(|_| ())
    }

    fn write(&mut self, text: &[u8]) -> Result<(), CallError> {
        if text.len() > self.limits.output_bytes - self.out.len() {
            return Err(Limit::OutputBytes.into());
        }
        self.out.extend_from_slice(text);
        Ok(())
    }

    /// Calls `evaluate` with a larger nesting depth.
    fn nested<T>(
        &mut self,
        evaluate: impl FnOnce(&mut Self) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        if self.depth >= self.limits.depth {
            return Err(Limit::Depth.into());
        }
        self.depth += 1;
        let result = evaluate(self);
        self.depth -= 1;
        result
    }

    fn nodes(&mut self, nodes: &'a [Node], dot: &Value) -> Result<Flow, CallError> {
        for node in nodes {
            self.budget.spend(1)?;
            let flow = match node {
                Node::Text(text) => {
                    self.write(text.as_bytes())?;
                    Flow::Next
                }
                Node::Action(pipe) => {
                    self.action(pipe, dot)?;
                    Flow::Next
                }
                Node::If(branch) => self.nested(|this| this.condition(branch, dot, false))?,
                Node::With(branch) => self.nested(|this| this.condition(branch, dot, true))?,
                Node::Range(branch) => {
                    self.nested(|this| this.range(branch, dot))?;
                    Flow::Next
                }
                Node::Template { line, name, pipe } => {
                    self.line = *line;
                    self.nested(|this| this.template(name, pipe.as_ref(), dot))?;
                    Flow::Next
                }
                Node::Break => Flow::Break,
                Node::Continue => Flow::Continue,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn action(&mut self, pipe: &'a Pipe, dot: &Value) -> Result<(), CallError> {
        let value = self.pipe(pipe, dot)?;
        if !pipe.variables.is_empty() {
            return Ok(());
        }
        match value {
            Value::Nil => self.write(b"<no value>"),
            Value::Str(text) => self.write(&text),
            value => {
                let text = format::display(&value, self.budget)?;
                self.write(&text)
            }
        }
    }

    fn condition(
        &mut self,
        branch: &'a Branch,
        dot: &Value,
        sets_dot: bool,
    ) -> Result<Flow, CallError> {
        let mark = self.variables.len();
        let value = self.pipe(&branch.pipe, dot)?;
        let flow = if value.is_true() {
            self.nodes(&branch.then, if sets_dot { &value } else { dot })
        } else if let Some(nodes) = &branch.otherwise {
            self.nodes(nodes, dot)
        } else {
            Ok(Flow::Next)
        };
        self.variables.truncate(mark);
        flow
    }

    fn template(
        &mut self,
        name: &[u8],
        pipe: Option<&'a Pipe>,
        dot: &Value,
    ) -> Result<(), CallError> {
        let set = self.set;
        let nodes = set.get(name).ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            format!("template {name:?} not defined")
        })?;
        let dot = match pipe {
            Some(pipe) => self.pipe(pipe, dot)?,
            None => Value::Nil,
        };
        let outer = std::mem::replace(&mut self.variables, vec![("$", dot.clone())]);
        let result = self.nodes(nodes, &dot);
        self.variables = outer;
        result.map(|_| ())
    }

    fn range(&mut self, branch: &'a Branch, dot: &Value) -> Result<(), CallError> {
        let mark = self.variables.len();
        let value = self.pipe(&branch.pipe, dot)?;
        let is_empty = match &value {
            Value::Int(_, count) => {
                self.check_single_variable(branch)?;
                *count <= 0
            }
            Value::Uint(_, count) => {
                self.check_single_variable(branch)?;
                *count == 0
            }
            Value::List(list) => list.items.is_empty(),
            Value::Dict(dict) => dict.len() == 0,
            Value::Nil => true,
            other => {
                return Err(format!("range can't iterate over {}", other.type_name()).into());
            }
        };
        if is_empty {
            if let Some(nodes) = &branch.otherwise {
                // `break` in the branch `else` of a loop ends the loop around this loop in the
                // parser's view, but Go ends only this loop.
                self.nodes(nodes, dot)?;
            }
        } else {
            self.iterate(branch, &value)?;
        }
        self.variables.truncate(mark);
        Ok(())
    }

    #[expect(
        clippy::unused_self,
        reason = "the check is a step of the evaluation of a loop"
    )]
    fn check_single_variable(&self, branch: &Branch) -> Result<(), CallError> {
        if branch.pipe.variables.len() > 1 {
            return Err("range over an integer has at most one variable".into());
        }
        Ok(())
    }

    fn iterate(&mut self, branch: &'a Branch, value: &Value) -> Result<(), CallError> {
        match value {
            Value::Int(kind, count) => {
                for number in 0..*count {
                    let element = Value::Int(*kind, number);
                    if self.iteration(branch, &Value::Nil, &element)? == Flow::Break {
                        break;
                    }
                }
            }
            Value::Uint(kind, count) => {
                for number in 0..*count {
                    let element = Value::Uint(*kind, number);
                    if self.iteration(branch, &Value::Nil, &element)? == Flow::Break {
                        break;
                    }
                }
            }
            Value::List(list) => {
                for (index, element) in (0..).zip(list.items.iter()) {
                    if self.iteration(branch, &Value::int(index), element)? == Flow::Break {
                        break;
                    }
                }
            }
            Value::Dict(dict) => {
                for (key, element) in dict.snapshot(self.budget)? {
                    if self.iteration(branch, &Value::Str(key), &element)? == Flow::Break {
                        break;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn iteration(
        &mut self,
        branch: &'a Branch,
        index: &Value,
        element: &Value,
    ) -> Result<Flow, CallError> {
        self.budget.spend(1)?;
        let mark = self.variables.len();
        match branch.pipe.variables.as_slice() {
            [] => {}
            names if branch.pipe.assigns => {
                if let [first, second, ..] = names {
                    self.assign(first, index.clone())?;
                    self.assign(second, element.clone())?;
                } else if let [only] = names {
                    self.assign(only, element.clone())?;
                }
            }
            [_] => self.set_top(1, element),
            [..] => {
                self.set_top(1, element);
                self.set_top(2, index);
            }
        }
        let flow = self.nodes(&branch.then, element);
        self.variables.truncate(mark);
        flow
    }

    /// Sets the variable at a distance from the end of the variables.
    fn set_top(&mut self, distance: usize, value: &Value) {
        let at = self.variables.len().checked_sub(distance);
        if let Some((_, variable)) = at.and_then(|at| self.variables.get_mut(at)) {
            *variable = value.clone();
        }
    }

    fn assign(&mut self, name: &str, value: Value) -> Result<(), CallError> {
        let mut visible = self.variables.iter_mut().rev();
        let found = visible.find(|(other, _)| *other == name);
        let (_, variable) = found.ok_or_else(|| format!("undefined variable: {name}"))?;
        *variable = value;
        Ok(())
    }
}
