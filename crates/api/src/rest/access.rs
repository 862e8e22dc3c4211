//! Who has which role where.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use crate::kinds::{ContainerDefaults, PodSecurity, ProjectNamespace, ProjectQuota};

wire! {
    /// That somebody has a role: in a cluster, in a project, or a global one.
    MemberView {
        /// Name of the binding.
        id: String,
        /// Name of the role.
        role: String,
        /// Name of the person, if it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// What others see of the person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// Who the person is to identity providers, for those who may give roles there; empty if they
        /// have a password here only.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        identities: Vec<MemberIdentity>,
        /// `drover:<provider>:<id>`, if it is everybody of a group.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        /// When it was given.
        created_at: Timestamp,
        /// Whether it gives what it says: `Ready`.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        conditions: Vec<Condition>,
    }
}
wire! {
    /// Who a person is to an identity provider: what tells two people of one name apart.
    MemberIdentity {
        /// Name of the provider.
        provider: String,
        /// What they type there to sign in.
        login: String,
    }
}
wire! {
    /// Somebody who could be given a role.
    PersonView {
        /// Their name here, by which roles are given.
        name: String,
        /// What others see of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// Who they are to identity providers; empty if they have a password here only.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        identities: Vec<MemberIdentity>,
    }
}
wire! {
    /// A role for somebody: either a person or a group.
    #[serde(deny_unknown_fields)]
    MemberCreate {
        /// Name of the role.
        role: String,
        /// Name of the person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// `drover:<provider>:<id>`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    }
}
wire! {
    /// A set of namespaces.
    ProjectView {
        /// The object's name.
        name: String,
        /// UID of the object.
        uid: String,
        /// Which of its wishes this is: it grows with every change of one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<i64>,
        /// Name of the cluster.
        cluster: String,
        /// What people call it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// What it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Those that it shall have.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        namespaces: Vec<ProjectNamespace>,
        /// Those that are its own.
        own_namespaces: Vec<String>,
        /// What they may use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        quota: Option<ProjectQuota>,
        /// What a container gets that does not say what it needs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        container_defaults: Option<ContainerDefaults>,
        /// Which pods they take.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
        pod_security: Option<PodSecurity>,
        /// When it was made.
        created_at: Timestamp,
        /// Whether it is being deleted.
        deleting: bool,
        /// Whether the caller's own roles let them change it.
        #[serde(default)]
        may_change: bool,
        /// Whether they let them delete it.
        #[serde(default)]
        may_delete: bool,
        /// `Ready`.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        conditions: Vec<Condition>,
    }
}
wire! {
    /// A wish for a project.
    #[serde(deny_unknown_fields)]
    ProjectCreate {
        /// The object's name, one of its kind on the hub.
        name: String,
        /// Name of the cluster.
        cluster: String,
        /// What people will call it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// What it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Those that it shall have.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        namespaces: Vec<ProjectNamespace>,
        /// What they may use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        quota: Option<ProjectQuota>,
        /// What a container gets that does not say what it needs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        container_defaults: Option<ContainerDefaults>,
        /// Which pods they take.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
        pod_security: Option<PodSecurity>,
    }
}
wire! {
    /// A change of a project; absent fields stay.
    #[serde(deny_unknown_fields)]
    ProjectPatch {
        /// `generation` of the one that this is a change of: 409 if it is another by now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<i64>,
        /// What people call it; empty for its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// What it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// All that it shall have.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Object>>))]
        namespaces: Option<Vec<ProjectNamespace>>,
        /// What they may use; `{}` for no bounds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        quota: Option<ProjectQuota>,
        /// What a container gets that does not say what it needs; `{}` for nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        container_defaults: Option<ContainerDefaults>,
        /// Which pods they take.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
        pod_security: Option<PodSecurity>,
    }
}
wire! {
    /// Who can do something, and by what.
    Explanation {
        /// The one who was asked about; absent if everybody was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// The resource that was meant; absent for a path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<ExplainedResource>,
        /// Why the resource was looked up among Kubernetes' own and not in the cluster; absent if the
        /// cluster was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unresolved: Option<String>,
        /// Every role that allows it, or may; at most 500.
        through: Vec<ThroughView>,
        /// Whether there are more.
        more: bool,
        /// Why the bindings that the cluster has beside Drover's are not among them; absent if they are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unasked: Option<String>,
    }
}
wire! {
    /// A resource as rules name it.
    #[derive(Default, Eq)]
    ExplainedResource {
        /// API group; empty for the core group.
        #[serde(default)]
        group: String,
        /// The plural.
        resource: String,
        /// Such as `log`; empty for the objects themselves.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        subresource: String,
    }
}
impl ExplainedResource {
    /// The name that kubectl takes: `deployments.apps/scale`.
    pub fn qualified(&self) -> String {
        let group = match self.group.as_str() {
            "" => String::new(),
            group => format!(".{group}"),
        };
        let below = match self.subresource.as_str() {
            "" => String::new(),
            below => format!("/{below}"),
        };
        format!("{}{group}{below}", self.resource)
    }
}
wire! {
    /// A role that allows something, and who has it.
    ThroughView {
        /// `drover:user:<uid>` or `drover:<provider>:<id>`.
        subject: String,
        /// Name of the person, if it is one that is still there and that the caller may know of: among
        /// the members that they may list, or all people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// Name of the role.
        role: String,
        /// `GlobalRoleBinding`, `ClusterRoleTemplateBinding`, `ProjectRoleTemplateBinding`, or `User`
        /// for those who administer Drover; `ClusterRoleBinding` or `RoleBinding` for what somebody has
        /// made in the cluster.
        binding_kind: String,
        /// Name of the binding, or of the User; `namespace/name` in the cluster.
        binding: String,
        /// `Rule` for one of the role's own, `Known` for a ClusterRole of Kubernetes, `Perhaps` for one
        /// of the cluster's, which may allow it: ask the cluster.
        through: Through,
        /// The ClusterRole, where it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster_role: Option<String>,
    }
}

/// What of a role allows something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Through {
    /// One of its own rules.
    Rule,
    /// A ClusterRole of Kubernetes, whose rules are known.
    Known,
    /// A ClusterRole of the cluster's, which may.
    Perhaps,
}
