//! Evaluates pipelines, commands and terms.

use super::Evaluator;
use crate::ast::{Command, Pipe, Term};
use crate::error::CallError;
use crate::functions::{self, Args, Function, Type};
use crate::literal::Number;
use crate::value::Value;

impl<'a> Evaluator<'a> {
    pub(super) fn pipe(&mut self, pipe: &'a Pipe, dot: &Value) -> Result<Value, CallError> {
        self.line = pipe.line;
        let mut value = None;
        for command in &pipe.commands {
            self.budget.spend(1)?;
            value = Some(self.command(command, dot, value)?);
        }
        let value = value.unwrap_or(Value::Nil);
        for name in &pipe.variables {
            if pipe.assigns {
                self.assign(name, value.clone())?;
            } else {
                self.variables.push((name, value.clone()));
            }
        }
        Ok(value)
    }

    /// Evaluates a command. `last` is the value of the previous command of the pipeline.
    fn command(
        &mut self,
        command: &'a Command,
        dot: &Value,
        last: Option<Value>,
    ) -> Result<Value, CallError> {
        let Some((first, arguments)) = command.terms.split_first() else {
            return Ok(Value::Nil);
        };
        match first {
            Term::Function(function) => return self.call(function, arguments, dot, last),
            Term::Field(path) => {
                return self.fields(dot.clone(), path, Some(arguments), dot, last);
            }
            Term::Chain(term, path) => {
                let receiver = self.chain_receiver(term, dot)?;
                return self.fields(receiver, path, Some(arguments), dot, last);
            }
            Term::Variable(name, path) if !path.is_empty() => {
                let receiver = self.variable(name)?;
                return self.fields(receiver, path, Some(arguments), dot, last);
            }
            _ => {}
        }
        if !arguments.is_empty() || last.is_some() {
            return Err("can't give an argument to a value that is not a function".into());
        }
        match first {
            Term::Nil => Err("nil is not a command".into()),
            term => self.argument(term, Type::Any, dot),
        }
    }

    fn variable(&self, name: &str) -> Result<Value, CallError> {
        let mut visible = self.variables.iter().rev();
        let found = visible.find(|(other, _)| *other == name);
        let (_, value) = found.ok_or_else(|| format!("undefined variable: {name}"))?;
        Ok(value.clone())
    }

    fn chain_receiver(&mut self, term: &'a Term, dot: &Value) -> Result<Value, CallError> {
        self.argument(term, Type::Any, dot)
    }

    /// Evaluates `.a.b.c`. Only the last field can have arguments.
    fn fields(
        &mut self,
        mut receiver: Value,
        path: &'a [String],
        arguments: Option<&'a [Term]>,
        dot: &Value,
        last: Option<Value>,
    ) -> Result<Value, CallError> {
        let Some((final_name, names)) = path.split_last() else {
            return Ok(receiver);
        };
        for name in names {
            receiver = self.field(&receiver, name, &[], dot, None)?;
        }
        let arguments = arguments.unwrap_or_default();
        self.field(&receiver, final_name, arguments, dot, last)
    }

    fn field(
        &mut self,
        receiver: &Value,
        name: &str,
        arguments: &'a [Term],
        dot: &Value,
        last: Option<Value>,
    ) -> Result<Value, CallError> {
        self.budget.spend(1)?;
        if let Some(method) = functions::method(receiver, name) {
            let arguments = self.arguments(method, arguments, dot, last, Some(receiver))?;
            return self.run(method, &arguments);
        }
        match receiver {
            Value::Nil => Err(format!("nil data; no entry for key {name:?}").into()),
            Value::Dict(_) if !arguments.is_empty() || last.is_some() => {
                Err(format!("{name} is not a method but has arguments").into())
            }
            Value::Dict(dict) => dict
                .get(name.as_bytes())
                .ok_or_else(|| format!("map has no entry for key {name:?}").into()),
            other => {
                let kind = other.type_name();
                Err(format!("can't evaluate field {name} in type {kind}").into())
            }
        }
    }

    fn call(
        &mut self,
        function: &'static Function,
        arguments: &'a [Term],
        dot: &Value,
        last: Option<Value>,
    ) -> Result<Value, CallError> {
        if let "and" | "or" = function.name {
            return self.logic(function.name == "or", arguments, dot, last);
        }
        let arguments = self.arguments(function, arguments, dot, last, None)?;
        self.run(function, &arguments)
    }

    /// Evaluates `and` and `or`, which skip arguments after the result is known.
    fn logic(
        &mut self,
        stops_at: bool,
        arguments: &'a [Term],
        dot: &Value,
        last: Option<Value>,
    ) -> Result<Value, CallError> {
        if arguments.is_empty() && last.is_none() {
            return Err("wrong number of args for and/or: want at least 1 got 0".into());
        }
        let mut value = Value::Nil;
        for argument in arguments {
            value = self.argument(argument, Type::Any, dot)?;
            if value.is_true() == stops_at {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }

    /// Evaluates the arguments of a call and checks their types.
    fn arguments(
        &mut self,
        function: &'static Function,
        terms: &'a [Term],
        dot: &Value,
        last: Option<Value>,
        receiver: Option<&Value>,
    ) -> Result<Vec<Value>, CallError> {
        let mut values: Vec<Value> = receiver.into_iter().cloned().collect();
        let count = values.len() + terms.len() + usize::from(last.is_some());
        let fixed = function.fixed.len();
        if count < fixed || (count > fixed && function.variadic.is_none()) {
            let name = function.name;
            return Err(
                format!("wrong number of args for {name}: want {fixed} got {count}").into(),
            );
        }
        for term in terms {
            let kind = function.parameter(values.len());
            values.push(self.argument(term, kind, dot)?);
        }
        if let Some(last) = last {
            let kind = function.parameter(values.len());
            values.push(functions::assign(last, kind)?);
        }
        Ok(values)
    }

    fn run(&mut self, function: &'static Function, values: &[Value]) -> Result<Value, CallError> {
        let args = Args {
            budget: self.budget,
            values,
        };
        let value = (function.call)(&args).map_err(|error| match error {
            CallError::Failed(reason) => {
                CallError::Failed(format!("error calling {}: {reason}", function.name))
            }
            other => other,
        })?;
        functions::charge(&value, self.budget)?;
        Ok(value)
    }

    /// Evaluates a term as an argument of the type `kind`.
    fn argument(&mut self, term: &'a Term, kind: Type, dot: &Value) -> Result<Value, CallError> {
        self.budget.spend(1)?;
        let is_field = match term {
            Term::Dot | Term::Field(_) | Term::Chain(..) => true,
            Term::Variable(_, path) => !path.is_empty(),
            _ => false,
        };
        let value = match term {
            Term::Dot => dot.clone(),
            Term::Nil => Value::Nil,
            Term::Bool(truth) => Value::Bool(*truth),
            Term::Str(text) => {
                self.budget.spend_bytes(text.len())?;
                Value::str(text)
            }
            Term::Number(number) => return constant(*number, kind),
            Term::Field(path) => self.fields(dot.clone(), path, None, dot, None)?,
            Term::Variable(name, path) => {
                let receiver = self.variable(name)?;
                self.fields(receiver, path, None, dot, None)?
            }
            Term::Function(function) => self.call(function, &[], dot, None)?,
            Term::Chain(term, path) => {
                let receiver = self.nested(|this| this.chain_receiver(term, dot))?;
                self.fields(receiver, path, None, dot, None)?
            }
            Term::Pipe(pipe) => self.nested(|this| this.pipe(pipe, dot))?,
        };
        if is_field && kind == Type::Dict && matches!(value, Value::Nil) {
            // Go converts the literal `nil` to a nil map, but not a nil value of the data.
            return Err("wrong type for value; expected a dictionary; got nil".into());
        }
        functions::assign(value, kind)
    }
}

/// Converts a number literal to the type of a parameter.
fn constant(number: Number, kind: Type) -> Result<Value, CallError> {
    match kind {
        Type::Any if number.is_float => Ok(Value::Float(number.float)),
        Type::Any | Type::Int => number
            .int
            .map(Value::int)
            .ok_or_else(|| "expected integer".into()),
        Type::Float => Ok(Value::Float(number.float)),
        Type::Bool | Type::Str | Type::Dict | Type::Time | Type::Version => {
            Err("unexpected number".into())
        }
    }
}
