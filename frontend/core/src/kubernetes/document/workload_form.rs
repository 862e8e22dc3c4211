//! The form that writes the manifests of a workload.

mod manifests;
#[cfg(test)]
mod tests;

use drover_quantity::Quantity;
use drover_rows::names::is_path_part;

use crate::action::pairs_of_text;
use crate::messages::t;

/// The kind of workload that the form writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkloadKind {
    /// Pods that serve requests.
    #[default]
    Deployment,
    /// Pods with stable names.
    StatefulSet,
    /// One pod on each node.
    DaemonSet,
    /// Pods that end.
    Job,
    /// Jobs at fixed times.
    CronJob,
}

impl WorkloadKind {
    /// All kinds, in the order of the form.
    pub const ALL: [Self; 5] = [
        Self::Deployment,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::CronJob,
    ];

    /// Returns the name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
            Self::CronJob => "CronJob",
        }
    }

    /// Returns the kind with this name.
    pub fn of_name(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        found.unwrap_or_default()
    }

    /// Reports whether the user chooses the number of pods.
    pub const fn has_replicas(self) -> bool {
        matches!(self, Self::Deployment | Self::StatefulSet)
    }

    /// Reports whether the pods serve requests.
    pub const fn has_port(self) -> bool {
        !self.ends()
    }

    /// Reports whether the pods end.
    pub const fn ends(self) -> bool {
        matches!(self, Self::Job | Self::CronJob)
    }
}

/// A field of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormField {
    /// The name of the objects.
    Name,
    /// The namespace.
    Namespace,
    /// The image of the container.
    Image,
    /// The number of pods.
    Replicas,
    /// The port of the container and of the Service; empty for none.
    Port,
    /// The schedule of a CronJob.
    Schedule,
    /// The command, which a shell runs; empty for the program of the image.
    Command,
    /// The environment variables, one per line.
    Variables,
    /// The requested CPU; empty for none.
    Cpu,
    /// The requested memory, which is also the limit; empty for none.
    Memory,
}

impl FormField {
    /// All fields, in the order of the form.
    pub const ALL: [Self; 10] = [
        Self::Name,
        Self::Namespace,
        Self::Image,
        Self::Replicas,
        Self::Port,
        Self::Schedule,
        Self::Command,
        Self::Variables,
        Self::Cpu,
        Self::Memory,
    ];

    /// Reports whether the form of a kind has the field.
    pub const fn belongs_to(self, kind: WorkloadKind) -> bool {
        match self {
            Self::Replicas => kind.has_replicas(),
            Self::Port => kind.has_port(),
            Self::Schedule => matches!(kind, WorkloadKind::CronJob),
            _ => true,
        }
    }

    /// Returns the error of the field's value.
    fn error(self, value: &str) -> Option<String> {
        let texts = &t().workload_form;
        match self {
            Self::Name => (!is_label(value)).then(|| texts.invalid_name().to_owned()),
            Self::Namespace => {
                (!value.is_empty() && !is_label(value)).then(|| texts.invalid_name().to_owned())
            }
            Self::Image => {
                let is_image = !value.is_empty() && !value.contains(char::is_whitespace);
                (!is_image).then(|| texts.invalid_image().to_owned())
            }
            Self::Replicas => {
                let is_count = value.parse::<u16>().is_ok();
                (!is_count).then(|| texts.invalid_replicas().to_owned())
            }
            Self::Port => {
                let is_port = value.is_empty() || value.parse::<u16>().is_ok_and(|port| port > 0);
                (!is_port).then(|| texts.invalid_port().to_owned())
            }
            Self::Schedule => {
                let is_schedule = value.split_whitespace().count() == 5
                    || value.starts_with('@') && value.len() > 1;
                (!is_schedule).then(|| texts.invalid_schedule().to_owned())
            }
            Self::Command => None,
            Self::Variables => pairs_of_text(value)
                .err()
                .map(|error| error.words().to_owned()),
            Self::Cpu | Self::Memory => {
                let is_amount = value.is_empty()
                    || Quantity::parse(value).is_ok_and(|amount| amount.as_f64() > 0.0);
                (!is_amount).then(|| texts.invalid_amount().to_owned())
            }
        }
    }
}

/// Reports whether a text is a DNS label (RFC 1123).
fn is_label(text: &str) -> bool {
    is_path_part(text)
        && !text.contains('.')
        && text.len() <= 63
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// The values of the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadForm {
    /// The kind of the workload.
    pub kind: WorkloadKind,
    values: [String; FormField::ALL.len()],
}

impl WorkloadForm {
    /// Returns a form with values from the fields.
    pub fn new(kind: WorkloadKind, value: impl Fn(FormField) -> String) -> Self {
        Self {
            kind,
            values: FormField::ALL.map(|field| value(field).trim().to_owned()),
        }
    }

    fn get(&self, field: FormField) -> &str {
        let values = FormField::ALL.iter().zip(&self.values);
        let found = values.into_iter().find(|(it, _)| **it == field);
        found.map_or("", |(_, value)| value)
    }

    /// Returns the errors of the fields, in the order of the form.
    pub fn errors(&self) -> Vec<(FormField, String)> {
        let fields = FormField::ALL.into_iter();
        let fields = fields.filter(|field| field.belongs_to(self.kind));
        fields
            .filter_map(|field| Some((field, self.error(field)?)))
            .collect()
    }

    fn error(&self, field: FormField) -> Option<String> {
        let value = self.get(field);
        let error = field.error(value);
        // The name is also the name of the Service, which is a DNS label of RFC 1035.
        let starts_with_digit = value.starts_with(|letter: char| letter.is_ascii_digit());
        if error.is_none() && field == FormField::Name && starts_with_digit && self.has_service() {
            return Some(t().workload_form.invalid_service_name().to_owned());
        }
        error
    }

    /// Reports whether the manifests contain a Service.
    fn has_service(&self) -> bool {
        self.kind.has_port() && !self.get(FormField::Port).is_empty()
    }
}
